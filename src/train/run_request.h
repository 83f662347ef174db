// What a request leaves to its files: the model of a checkpoint, the sizes of a token file.
#pragma once

#include "config/config.h"
#include "config/request.h"

namespace weft {

// The request's config with what --load and --token-file say filled in: the model that the
// checkpoint was trained as, and the file's sequence length if neither gives one. Flags that change
// no parameter (sequence length, coefficients of losses) may differ from the checkpoint's. Throws
// UserError for a file that is not there or damaged, and for given flags that say otherwise.
Config with_files(const Request& request);

}  // namespace weft
