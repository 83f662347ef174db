// What a checkpoint directory is believed by.
//
//   DIR/latest_checkpointed_iteration.txt   "10"
//   DIR/iter_0000010/manifest.json          {"body": {...}, "xxh3": digest of the body}
//   DIR/iter_0000010/rank_00000.safetensors tensors under their names in the unsharded model:
//       NAME, optimizer.exp_avg.NAME, optimizer.exp_avg_sq.NAME
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace weft {

// Where a run stands. All random numbers are functions of the seed and of what they are for (a
// parameter's name, an epoch), so the seed and the position in the data are the random state.
struct TrainState {
  std::int64_t step = 0;  // finished steps
  std::int64_t consumed_rows = 0;
  std::int64_t seed = 0;
  // Flag and value, for whoever loads or inspects it.
  std::map<std::string, std::string> config = {};

  bool operator==(const TrainState&) const = default;
};

struct CheckpointFile {
  std::string name;
  std::int64_t size_bytes = 0;
  std::string digest;  // XXH3, 16 hexadecimal digits

  bool operator==(const CheckpointFile&) const = default;
};

struct Manifest {
  TrainState state;
  std::int64_t optimizer_steps = 0;
  std::vector<CheckpointFile> files;

  bool operator==(const Manifest&) const = default;
};

inline constexpr const char* kManifestName = "manifest.json";
inline constexpr const char* kTrackerName = "latest_checkpointed_iteration.txt";

std::string print_manifest(const Manifest& manifest);
// Errors: UserError naming file, field, what is wrong.
Manifest read_manifest(const std::filesystem::path& iteration_directory);

// Empty if size and checksum of the file are those of the manifest, else what is wrong.
std::string check_file(const std::filesystem::path& iteration_directory,
                       const CheckpointFile& file);

// DIR/iter_0000010.
std::filesystem::path iteration_directory(const std::filesystem::path& directory,
                                          std::int64_t step);

// The iterations under DIR by their names, whatever their state; empty if there is no DIR.
std::vector<std::int64_t> list_iterations(const std::filesystem::path& directory);

// The iteration that DIR's tracker names, or DIR itself if it is one. Errors: UserError if there is
// none, naming the nearest valid iteration; also for a folder of Hugging Face, which is not read
// yet.
std::filesystem::path find_iteration(const std::filesystem::path& directory);

// "the nearest valid iteration is 10: --load DIR/iter_0000010", or that there is none. Reads and
// checks every file of every iteration until one is valid.
std::string nearest_valid_iteration(const std::filesystem::path& directory, std::int64_t step);

}  // namespace weft
