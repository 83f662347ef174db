#include "cli/run_files.h"

#include <filesystem>
#include <string>

#include "config/derive.h"
#include "timeline/write_timelines.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<NamedFile>;

constexpr VerbSet kWritesTimelines = verbs(Verb::Train, Verb::Schedule, Verb::Simulate);

void add(Files& files, const char* flag, const std::string& path) {
  if (!path.empty()) files.push_back({flag, path});
}

void add_pair(Files& files, const char* flag, const std::string& prefix) {
  if (prefix.empty()) return;
  for (const char* end : {".bin", ".idx"}) files.push_back({flag, prefix + end});
}

void add_timelines(Files& files, const std::string& path) {
  if (path.empty()) return;
  for (const std::string& name : timeline_files(path)) files.push_back({"--timeline", name});
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

void add_iterations(Files& files, const char* flag, const fs::path& folder) {
  if (folder.empty()) return;
  add(files, flag, folder / "latest_checkpointed_iteration.txt");
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.starts_with("iter_")) files.push_back({flag, entry->path().string(), true});
  }
}

// An iteration by itself, or the folder of several.
void add_checkpoint(Files& files, const char* flag, const std::string& folder) {
  if (is_there(fs::path(folder) / "manifest.json")) {
    files.push_back({flag, folder, true});
  } else {
    add_iterations(files, flag, folder);
  }
}

void add_model(Files& files, const std::string& model) {
  if (!is_there(model)) return;  // a name
  const std::string in_folder = model + "/config.json";
  add(files, "--model", is_there(in_folder) ? in_folder : model);
}

Files inputs_of(const Request& request) {
  const Config& config = request.config;
  const TrainConfig& train = config.train;
  Files files;
  if (const auto given = request.sources.find("config"); given != request.sources.end()) {
    add(files, "--config", given->second.text);
  }
  const std::string& schedule = config.schedule.schedules_method;
  if (is_schedule_file(schedule)) add(files, "--schedules-method", schedule);
  add_model(files, config.plan.model);
  add(files, "--token-file", train.token_file);
  add_pair(files, "--data-path", train.data_path);
  if (!train.load.empty()) add_checkpoint(files, "--load", train.load);
  // What was saved there before is replaced by what is saved alone.
  add_iterations(files, "--save", train.save);
  add(files, "--input", config.data.input);
  if (request.verb != Verb::Report) {
    add(files, "--costs", train.costs);
    return files;
  }
  add(files, "--metrics", train.metrics);
  add(files, "--timeline", train.timeline);
  add(files, "--predicted", config.report.predicted);
  return files;
}

Files outputs_of(const Request& request) {
  const TrainConfig& train = request.config.train;
  Files files;
  if (request.verb == Verb::Train) {
    add(files, "--save", train.save);
    add(files, "--metrics", train.metrics);
    add(files, "--save-gradients", train.save_gradients);
  }
  if (request.verb == Verb::Report) add(files, "--costs", train.costs);
  if (contains(kWritesTimelines, request.verb)) add_timelines(files, train.timeline);
  add_pair(files, "--output-prefix", request.config.data.output_prefix);
  add(files, "--output", request.config.output.output);
  return files;
}

}  // namespace

RunFiles files_of(const Request& request) { return {inputs_of(request), outputs_of(request)}; }

}  // namespace weft
