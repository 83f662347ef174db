// That no file which is written is one that is read or written elsewhere.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace weft {

// What a flag names to be read or written.
struct NamedFile {
  std::string flag;  // `--metrics`
  std::string path;
  bool with_contents = false;  // a folder and all that is in it
};

// Where a name leads: symbolic links at its end are followed, also to a file that is not there.
std::string behind_links(const std::string& path);

// One violation for each output that is an input, or an output before it: the same device and
// inode, or where one is not there yet the same path behind links and dots. What is neither file
// nor folder (a terminal, a pipe, /dev/null) may be shared.
std::vector<Violation> outputs_apart(const std::vector<NamedFile>& inputs,
                                     const std::vector<NamedFile>& outputs);

}  // namespace weft
