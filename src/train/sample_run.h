// `weft sample`: continues a prompt from a checkpoint, in one process.
#pragma once

#include <string>

#include "config/config.h"

namespace weft {

// `given` with the model that --load was trained as. Throws UserError for a checkpoint that is not
// there or damaged, and for model flags of `given` that say otherwise.
Config with_model_of_checkpoint(const Config& given);

// The prompt's continuation, its bytes as they are. `config` as with_model_of_checkpoint makes it.
std::string sample_from_checkpoint(const Config& config);

}  // namespace weft
