// Where a run writes, checked before anything starts.
#pragma once

#include "config/config.h"

namespace weft {

// Throws UserError, all at once, for outputs (--save, --metrics, --timeline, --save-gradients) that
// lie where nothing can be written, or are folders where a file is meant or the reverse (that they
// share no file, cli/run_files.h says). --save-gradients has to be a regular file or a new one,
// since it is renamed into its place.
void require_writable_outputs(const TrainConfig& train);

}  // namespace weft
