// The files of a command, by its flags.
#pragma once

#include <vector>

#include "base/files_apart.h"
#include "config/request.h"

namespace weft {

struct RunFiles {
  std::vector<NamedFile> inputs;
  std::vector<NamedFile> outputs;
};

// What the request's verb reads and writes: of a checkpoint folder its iterations and its tracker
// (train/manifest.h), so that other files may lie beside them. The folders of `weft data prepare`
// are not among them: which of their files it reads, only prepare() knows.
RunFiles files_of(const Request& request);

}  // namespace weft
