// The command line from its words to an exit code.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/request.h"

namespace weft {

// Runs `weft ARGUMENTS...`: results to standard output or --output, everything else to standard
// error. Throws nothing.
ExitCode run_command(const std::vector<std::string>& arguments,
                     const EnvironmentVariables& environment);

}  // namespace weft
