// What a request leaves to its files: the model and the order of data of a checkpoint, the sizes of
// a token file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/request.h"

namespace weft {

// The request's config with what --load and --token-file say filled in: the model that the
// checkpoint was trained as, for `weft train` also its seed and split, and the file's sequence
// length if neither gives one. Flags that change no parameter (sequence length, coefficients of
// losses) may differ from the checkpoint's; if they change the order of the data, `warnings` says
// so. Throws UserError for a file that is not there or damaged, and for given flags that say
// otherwise.
Config with_files(const Request& request, std::vector<std::string>& warnings);

// What a checkpoint keeps of a run's flags for with_files(): the model's, and --split.
std::map<std::string, std::string> saved_flags(const Config& config);

}  // namespace weft
