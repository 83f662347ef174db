// `weft sample`: continues a prompt from a checkpoint, in one process.
#pragma once

#include <string>

#include "config/config.h"

namespace weft {

// The prompt's continuation, its bytes as they are. `config` as with_files makes it; its model is
// that of --load.
std::string sample_from_checkpoint(const Config& config);

}  // namespace weft
