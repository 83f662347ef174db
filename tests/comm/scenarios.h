// What the ranks of a test run do: `comm_process_test --scenario NAME RANKS` is started by the
// launcher, torchrun or mpirun, or starts its ranks itself; with 0 of them it is the only one.
#pragma once

namespace weft {

// The exit code of the scenario's process; argv as of main.
int run_scenario(int argc, char** argv);

}  // namespace weft
