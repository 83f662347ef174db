#include "train/checkpoint.h"

#include <ATen/Functions.h>
#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "train/files.h"
#include "train/gather.h"
#include "train/safetensors.h"
#include "train/unsharded.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kExpAvg = "optimizer.exp_avg.";
constexpr const char* kExpAvgSq = "optimizer.exp_avg_sq.";

std::string rank_file_name(int rank) {
  char name[40];
  std::snprintf(name, sizeof name, "rank_%05d.safetensors", rank);
  return name;
}

void reach(const CheckpointHook& hook, const char* point) {
  if (hook) hook(point);
}

NamedTensors owned_tensors(const ParameterStore& store, const AdamW& optimizer, Group& world) {
  const std::map<std::string, SliceOwner> owners = slice_owners(store, world);
  NamedTensors tensors;
  std::set<std::string> taken;
  for (const SliceState& slice : optimizer.slices()) {
    if (owners.at(slice.name).rank != world.rank() || !taken.insert(slice.name).second) continue;
    tensors.emplace_back(slice.name, slice.main);
    tensors.emplace_back(kExpAvg + slice.name, slice.exp_avg);
    tensors.emplace_back(kExpAvgSq + slice.name, slice.exp_avg_sq);
  }
  return tensors;
}

// `iter_0000010.tmp`.
bool is_unfinished_iteration(const std::string& name) {
  constexpr std::string_view kBegin = "iter_", kEnd = ".tmp";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  const std::string number = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  return !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
}

// Also clears what interrupted saves have left.
void make_temporary_directory(const fs::path& directory, const fs::path& temporary) {
  try {
    fs::create_directories(directory);
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
      if (is_unfinished_iteration(entry.path().filename())) fs::remove_all(entry.path());
    }
    fs::create_directory(temporary);
  } catch (const fs::filesystem_error& error) {
    throw RuntimeFault(std::string("cannot make the checkpoint directory: ") + error.what());
  }
}

constexpr std::size_t kNamedFaults = 3;

// Empty, or which tensors hold something else than numbers: no checkpoint to go on from.
std::string find_not_finite(const NamedTensors& tensors) {
  std::vector<std::string> faults;
  for (const auto& [name, tensor] : tensors) {
    if (!at::isfinite(tensor).all().item<bool>()) faults.push_back(name);
  }
  if (faults.empty()) return "";
  std::string text = std::to_string(faults.size()) + " of " + std::to_string(tensors.size()) +
                     " tensors are not finite:";
  for (std::size_t i = 0; i < std::min(faults.size(), kNamedFaults); ++i) {
    text += (i == 0 ? " " : ", ") + faults[i];
  }
  return text + (faults.size() > kNamedFaults ? ", ..." : "") +
         "; what was saved before is untouched, a lower --lr may help";
}

// What a rank tells the others about its file; an empty name if it had nothing to write.
struct Written {
  CheckpointFile file;
  std::string failure;
};

Written write_rank_file(const fs::path& temporary, const NamedTensors& tensors, int rank,
                        const CheckpointHook& hook) {
  Written written;
  if (tensors.empty()) return written;
  written.failure = find_not_finite(tensors);
  if (!written.failure.empty()) return written;
  try {
    FileWriter writer(temporary / rank_file_name(rank));
    reach(hook, "rank-file-begun");
    write_safetensors(writer, tensors);
    writer.finish();
    reach(hook, "rank-file-written");
    written.file = {rank_file_name(rank), writer.size_bytes(), to_hex(writer.digest())};
  } catch (const std::exception& error) {
    written.failure = error.what();
  }
  return written;
}

// The files of all ranks; throws on all of them if one failed, after rank 0 has cleared up.
std::vector<CheckpointFile> gather_files(const fs::path& temporary, const Written& mine,
                                         Group& world) {
  const json text = {mine.file.name, mine.file.size_bytes, mine.file.digest, mine.failure};
  // Paths need not be UTF-8.
  const std::string line = text.dump(-1, ' ', false, json::error_handler_t::replace);
  std::vector<CheckpointFile> files;
  std::string failure;
  int rank = 0;
  for (const std::string& bytes : gather_bytes(world, line)) {
    const json theirs = json::parse(bytes);
    if (failure.empty() && !theirs[3].get<std::string>().empty()) {
      failure = "the checkpoint was not saved: rank " + std::to_string(rank) + ": " +
                theirs[3].get<std::string>();
    }
    if (!theirs[0].get<std::string>().empty()) {
      files.push_back({theirs[0], theirs[1].get<std::int64_t>(), theirs[2]});
    }
    ++rank;
  }
  if (failure.empty()) return files;
  std::error_code ignored;
  if (world.rank() == 0) fs::remove_all(temporary, ignored);
  throw RuntimeFault(failure);
}

// Puts the new directory in place; an older one of the same name is swapped out in one step.
void publish(const fs::path& temporary, const fs::path& final_path) {
  std::error_code error;
  if (!fs::exists(final_path, error)) {
    rename_file(temporary, final_path);
  } else if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, final_path.c_str(),
                         RENAME_EXCHANGE) == 0) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
  } else {
    throw RuntimeFault(final_path.string() + " exists and this file system cannot swap it (" +
                       std::system_category().message(errno) +
                       "); remove it or save somewhere else");
  }
  sync_directory(final_path.parent_path());
}

void complete(const fs::path& directory, const Manifest& manifest, const CheckpointHook& hook) {
  const fs::path final_path = iteration_directory(directory, manifest.state.step);
  const fs::path temporary = final_path.string() + ".tmp";
  try {
    FileWriter writer(temporary / kManifestName);
    writer.write(print_manifest(manifest));
    writer.finish();
    sync_directory(temporary);
    reach(hook, "manifest-written");
    publish(temporary, final_path);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
  reach(hook, "renamed");
  write_file_atomically(directory / kTrackerName, std::to_string(manifest.state.step) + "\n");
  reach(hook, "tracked");
}

void check_files(const fs::path& directory, const fs::path& iteration, const Manifest& manifest,
                 Group& world) {
  std::string mine;
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    if (static_cast<int>(i) % world.size() != world.rank()) continue;
    const std::string damage = check_file(iteration, manifest.files[i]);
    if (!damage.empty()) mine += (mine.empty() ? "" : "; ") + damage;
  }
  std::string all;
  for (const std::string& theirs : gather_bytes(world, mine)) {
    if (!theirs.empty()) all += (all.empty() ? "" : "; ") + theirs;
  }
  if (all.empty()) return;
  std::string advice;
  if (world.rank() == 0) advice = nearest_valid_iteration(directory, manifest.state.step);
  advice = gather_bytes(world, advice)[0];
  throw UserError(Violation{"checkpoint", "--load " + iteration.string(),
                            "is damaged: " + all + "; " + advice});
}

using TensorFiles = std::map<std::string, const SafetensorsFile*>;

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::ostringstream text;
  text << at::IntArrayRef(shape);
  return text.str();
}

// A checkpoint of another model misses everything; the first few say which it is.
constexpr std::size_t kNamedMisfits = 8;

void check_names(const std::string& directory, const std::map<std::string, SliceOwner>& owners,
                 const TensorFiles& there) {
  std::vector<Violation> violations;
  const auto refuse = [&](const std::string& name, const std::string& why) {
    violations.push_back({"checkpoint-tensor", "--load " + directory + ": " + name, why});
  };
  for (const auto& [name, owner] : owners) {
    for (const std::string& stored : {name, kExpAvg + name, kExpAvgSq + name}) {
      const auto found = there.find(stored);
      if (found == there.end()) {
        refuse(stored, "the model has it, the checkpoint does not");
        break;  // so are its running means
      }
      const auto& [type, shape, begin, end] = found->second->entries().at(stored);
      if (!at::isFloatingType(type)) {
        refuse(stored, std::string("holds ") + c10::toString(type) +
                           ", weights are floating-point numbers");
        break;
      }
      if (shape == owner.shape) continue;
      refuse(stored, "is " + text_of(shape) + " in the checkpoint, the model needs " +
                         text_of(owner.shape));
      break;
    }
  }
  for (const auto& [name, file] : there) {
    if (name.starts_with("optimizer.") || owners.contains(name)) continue;
    refuse(name, "the checkpoint has it, the model does not");
  }
  if (violations.empty()) return;
  const std::size_t num = violations.size();
  if (num > kNamedMisfits) {
    violations.resize(kNamedMisfits);
    violations.push_back({"checkpoint-tensor", "--load " + directory,
                          std::to_string(num - kNamedMisfits) + " more tensors do not fit"});
  }
  throw UserError(std::move(violations));
}

}  // namespace

void save_checkpoint(const std::string& directory, const ParameterStore& store,
                     const AdamW& optimizer, const TrainState& state, Group& world,
                     const CheckpointHook& hook) {
  const fs::path temporary = iteration_directory(directory, state.step).string() + ".tmp";
  const NamedTensors tensors = owned_tensors(store, optimizer, world);
  run_together(world, [&] {
    if (world.rank() == 0) make_temporary_directory(directory, temporary);
  });
  reach(hook, "directory-made");
  const Written mine = write_rank_file(temporary, tensors, world.rank(), hook);
  Manifest manifest{state, optimizer.num_steps(), gather_files(temporary, mine, world)};
  run_together(world, [&] {
    if (world.rank() == 0) complete(directory, manifest, hook);
  });
}

TrainState load_checkpoint(const std::string& directory, ParameterStore& store, AdamW* optimizer,
                           Group& world) {
  const fs::path iteration = find_iteration(directory);
  const Manifest manifest = read_manifest(iteration);
  check_files(iteration == directory ? iteration.parent_path() : fs::path(directory), iteration,
              manifest, world);
  std::deque<SafetensorsFile> files;
  TensorFiles there;
  for (const CheckpointFile& file : manifest.files) {
    files.emplace_back((iteration / file.name).string());
    for (const auto& [name, entry] : files.back().entries()) there[name] = &files.back();
  }
  check_names(directory, slice_owners(store, world), there);

  const auto read = [&](const at::Tensor& into, const std::string& name) {
    into.detach().copy_(there.at(name)->tensor(name));
  };
  for (const Parameter& parameter : store.parameters) {
    for (const NamedSlice& slice : parameter.slices) read(slice.main, slice.name);
  }
  if (optimizer != nullptr) {
    for (const SliceState& slice : optimizer->slices()) {
      read(slice.exp_avg, kExpAvg + slice.name);
      read(slice.exp_avg_sq, kExpAvgSq + slice.name);
    }
    optimizer->set_num_steps(manifest.optimizer_steps);
  }
  store.refresh_compute();
  return manifest.state;
}

}  // namespace weft
