// Which rank this process is and where the ranks meet, from the environment that started it.
#pragma once

#include <functional>
#include <string>

namespace weft {

enum class StartedBy { None, Launcher, Torchrun, Mpirun, Srun };

struct Rendezvous {
  StartedBy started_by = StartedBy::None;
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  // Where the store of the ranks listens.
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  bool hosts_store = true;  // this process, rather than another rank or the program that started it
  std::string key_prefix;  // of all keys in the store, so that a restarted run finds none of before
  std::string store_host = "rank 0";  // whose process the store is in, for messages

  bool operator==(const Rendezvous&) const = default;
};

// Value of an environment variable, null if it is not set.
using GetVariable = std::function<const char*(const char* name)>;

// Reads the environment of `weft`'s own launcher, torchrun (also RANK and WORLD_SIZE by hand),
// mpirun (Open MPI, or any that speaks PMI) or srun, in this order; a single rank if it finds none.
// Throws UserError listing every variable that is malformed or missing, RANK without WORLD_SIZE or
// the reverse, and where they contradict mpirun or srun.
Rendezvous rendezvous_from_environment(const GetVariable& environment);
Rendezvous rendezvous_from_environment();  // of this process

// "torchrun", "mpirun", ..., for messages.
std::string started_by_text(StartedBy started_by);

// Set by the launcher for its ranks.
inline constexpr const char* kLauncherVariable = "WEFT_LAUNCHER_PIPE";

}  // namespace weft
