// `--local-ranks N`: this program again, N times, as the ranks of one run on this host.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace weft {

struct LauncherOptions {
  // Between a death and SIGTERM to the others, in which they may notice by themselves; and between
  // SIGTERM and SIGKILL.
  std::chrono::milliseconds notice{300};
  std::chrono::milliseconds grace{3000};
};

// Hosts the store, starts `num_ranks` processes of this executable with `arguments` (argv, the
// program's name first) and the environment that rendezvous_from_environment reads, and returns
// when all have ended well. The ranks die with this process.
//
// When one ends by an error the others are ended, and its error is thrown here once: UserError or
// PlanError as the rank threw it, else RuntimeFault naming the rank, how it died and in which
// actions the others noticed. No rank is left then. On SIGINT or SIGTERM the ranks are ended, a
// second one ends them at once; then SIGINT is raised again with its former handler, and SIGTERM is
// a RuntimeFault that says in which actions the ranks were.
//
// More ranks than the free memory can hold are a UserError, before any is started.
//
// Call it from the main thread, from a process without ranks of its own.
void launch_local_ranks(int num_ranks, const std::vector<std::string>& arguments,
                        const LauncherOptions& options = {});

}  // namespace weft
