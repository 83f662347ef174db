#include "comm/rendezvous.h"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/error.h"

namespace weft {
namespace {

constexpr int kMaxPort = 65535;
constexpr int kMaxRanks = 1 << 20;

// Reads variables and collects what is wrong with them.
class Reader {
 public:
  explicit Reader(const GetVariable& environment) : environment_(environment) {}

  bool has(const char* name) const {
    const char* value = environment_(name);
    return value != nullptr && *value != '\0';
  }

  std::string text(const char* name, const std::string& fallback) const {
    return has(name) ? environment_(name) : fallback;
  }

  // An integer in [low, high]; `fallback` if the variable is not set, an error if there is none.
  int number(const char* name, int low, int high, std::optional<int> fallback = std::nullopt) {
    if (!has(name)) {
      if (!fallback) add(name, "is not set", "set it");
      return fallback.value_or(low);
    }
    const std::string value = environment_(name);
    int result = 0;
    const char* end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, result);
    if (error == std::errc() && rest == end && result >= low && result <= high) return result;
    add(name, "is '" + value + "'",
        "an integer from " + std::to_string(low) + " to " + std::to_string(high) + " is needed");
    return low;
  }

  // Whether the variable is set to something else than `value`.
  bool contradicts(const char* name, int value) const {
    return has(name) && environment_(name) != std::to_string(value);
  }

  void add(const std::string& name, const std::string& found, const std::string& message) {
    violations_.push_back({"rendezvous", name + " " + found, message});
  }

  void throw_if_wrong() const {
    if (!violations_.empty()) throw UserError(violations_);
  }

 private:
  const GetVariable& environment_;
  std::vector<Violation> violations_;
};

void read_address(Reader& reader, Rendezvous& place) {
  place.master_address = reader.text("MASTER_ADDR", "127.0.0.1");
  place.master_port = reader.number("MASTER_PORT", 1, kMaxPort);
}

void read_ranks(Reader& reader, Rendezvous& place, const char* rank, const char* world_size,
                const char* local_rank) {
  place.world_size = reader.number(world_size, 1, kMaxRanks);
  place.rank = reader.number(rank, 0, place.world_size - 1);
  place.local_rank = reader.number(local_rank, 0, kMaxRanks, place.rank);
}

// The launcher and torchrun's agent host the store; with RANK by hand rank 0 does.
void read_torchrun(Reader& reader, Rendezvous& place) {
  const bool launched = reader.has(kLauncherVariable);
  place.started_by = launched ? StartedBy::Launcher : StartedBy::Torchrun;
  read_ranks(reader, place, "RANK", "WORLD_SIZE", "LOCAL_RANK");
  read_address(reader, place);
  const bool agent_hosts = launched || reader.text("TORCHELASTIC_USE_AGENT_STORE", "") == "True";
  place.hosts_store = !agent_hosts && place.rank == 0;
  if (agent_hosts) place.store_host = launched ? "the program that started the ranks" : "torchrun";
  const int restarts = reader.number("TORCHELASTIC_RESTART_COUNT", 0, kMaxRanks, 0);
  place.key_prefix =
      "weft/" + reader.text("TORCHELASTIC_RUN_ID", "0") + "/" + std::to_string(restarts);
}

// Without MASTER_ADDR and MASTER_PORT the ranks of one host meet on the loopback address, at a port
// that follows from the job: below 32768, where systems begin to hand ports out by themselves.
int port_of_job(const std::string& job) {
  std::uint32_t hash = 2166136261U;  // FNV-1a: the same in every process
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return 20000 + static_cast<int>(hash % 12768);
}

void read_meeting_place(Reader& reader, Rendezvous& place, const std::string& job,
                        bool is_one_host) {
  place.hosts_store = place.rank == 0;
  place.key_prefix = "weft/" + job;
  if (reader.has("MASTER_ADDR") || reader.has("MASTER_PORT")) {
    read_address(reader, place);
    return;
  }
  if (is_one_host && !job.empty()) {
    place.master_port = port_of_job(job);
    return;
  }
  reader.add("MASTER_ADDR, MASTER_PORT", "are not set",
             is_one_host
                 ? "set both; the environment does not name the job"
                 : "set both to the host of rank 0 and a free port; ranks are on several hosts");
}

void read_open_mpi(Reader& reader, Rendezvous& place) {
  place.started_by = StartedBy::Mpirun;
  read_ranks(reader, place, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_RANK");
  const int local_size =
      reader.number("OMPI_COMM_WORLD_LOCAL_SIZE", 1, kMaxRanks, place.world_size);
  const std::string job = reader.text("OMPI_MCA_ess_base_jobid", reader.text("PMIX_NAMESPACE", ""));
  read_meeting_place(reader, place, job, local_size == place.world_size);
}

void read_pmi(Reader& reader, Rendezvous& place) {
  place.started_by = StartedBy::Mpirun;
  read_ranks(reader, place, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID");
  const int local_size = reader.number("MPI_LOCALNRANKS", 1, kMaxRanks, place.world_size);
  const std::string job = reader.text("PMI_JOBID", "");
  read_meeting_place(reader, place, job, local_size == place.world_size);
}

void read_srun(Reader& reader, Rendezvous& place) {
  place.started_by = StartedBy::Srun;
  read_ranks(reader, place, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID");
  const int hosts = reader.number("SLURM_STEP_NUM_NODES", 1, kMaxRanks, 1);
  const std::string job =
      reader.text("SLURM_JOB_ID", "0") + "." + reader.text("SLURM_STEP_ID", "0");
  read_meeting_place(reader, place, job, hosts == 1);
}

// By mpirun or srun, or by nobody.
void read_other_launchers(Reader& reader, Rendezvous& place) {
  if (reader.has("OMPI_COMM_WORLD_SIZE") || reader.has("OMPI_COMM_WORLD_RANK")) {
    read_open_mpi(reader, place);
  } else if (reader.has("SLURM_STEP_NUM_TASKS") && reader.has("SLURM_PROCID")) {
    // Before PMI_*, which srun may set too; a batch script's own shell has no number of tasks.
    read_srun(reader, place);
  } else if (reader.has("PMI_SIZE") || reader.has("PMI_RANK")) {
    read_pmi(reader, place);
  }
}

// RANK and WORLD_SIZE, one without the other, beside `other`, which mpirun or srun have set. Taken
// for nothing, each process would be a run of its own.
void refuse_half_set(Reader& reader, const Rendezvous& other) {
  if (other.started_by == StartedBy::None) {
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK"}) {
      if (!reader.has(name)) continue;
      reader.add(name, "is set, " + std::string(reader.has("RANK") ? "WORLD_SIZE" : "RANK") +
                           " is not",
                 "set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for every rank, or unset it");
    }
    return;
  }
  const std::string advice =
      "; unset it, the environment of " + started_by_text(other.started_by) + " is enough";
  if (reader.contradicts("RANK", other.rank)) {
    reader.add("RANK", "is '" + reader.text("RANK", "") + "'",
               "this is rank " + std::to_string(other.rank) + " of " +
                   started_by_text(other.started_by) + advice);
  }
  if (reader.contradicts("WORLD_SIZE", other.world_size)) {
    reader.add("WORLD_SIZE", "is '" + reader.text("WORLD_SIZE", "") + "'",
               started_by_text(other.started_by) + " has started " +
                   std::to_string(other.world_size) + " ranks" + advice);
  }
}

// RANK and WORLD_SIZE by hand in processes of mpirun or srun: these may be one for each host, which
// starts the ranks there, but never more than the ranks.
void refuse_more_processes_than_ranks(Reader& reader, const Rendezvous& place) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE"}) {
    const int processes = reader.number(name, 1, kMaxRanks, 1);
    if (processes <= place.world_size) continue;
    reader.add("WORLD_SIZE", "is '" + std::to_string(place.world_size) + "'",
               std::string(name) + " is " + std::to_string(processes) +
                   ": each of these processes would be a run of its own; unset RANK and "
                   "WORLD_SIZE, or set them to each process's own");
  }
}

}  // namespace

Rendezvous rendezvous_from_environment(const GetVariable& environment) {
  Reader reader(environment);
  Rendezvous place;
  const bool has_agent = reader.has(kLauncherVariable) || reader.has("TORCHELASTIC_RUN_ID");
  if (has_agent || (reader.has("RANK") && reader.has("WORLD_SIZE"))) {
    read_torchrun(reader, place);
    if (!has_agent) refuse_more_processes_than_ranks(reader, place);
  } else {
    read_other_launchers(reader, place);
    refuse_half_set(reader, place);
  }
  reader.throw_if_wrong();
  return place;
}

Rendezvous rendezvous_from_environment() {
  return rendezvous_from_environment([](const char* name) { return std::getenv(name); });
}

std::string started_by_text(StartedBy started_by) {
  switch (started_by) {
    case StartedBy::None:
      return "nothing";
    case StartedBy::Launcher:
      return "weft --local-ranks";
    case StartedBy::Torchrun:
      return "torchrun";
    case StartedBy::Mpirun:
      return "mpirun";
    case StartedBy::Srun:
      return "srun";
  }
  return "";
}

}  // namespace weft
