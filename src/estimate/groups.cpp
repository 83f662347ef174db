#include <set>

#include "estimate/run_report.h"

namespace weft {
namespace {

using Members = std::vector<std::vector<int>>;

GroupReport group(std::string name, std::string purpose, Members members) {
  GroupReport report{std::move(name), 0, std::move(members), std::move(purpose)};
  if (!report.members.empty()) report.size = static_cast<int>(report.members.front().size());
  return report;
}

// The ranks of one pipeline rank, `stride` apart, in runs of `size`.
Members within_stages(const Mesh& mesh, int first_step, int size, int stride) {
  Members groups;
  const int per_stage = mesh.dp_size * mesh.tp_size;
  const int num_groups = per_stage / size;
  for (int pp = 0; pp < mesh.pp_size; ++pp) {
    for (int g = 0; g < num_groups; ++g) {
      std::vector<int>& ranks = groups.emplace_back();
      for (int i = 0; i < size; ++i) ranks.push_back(pp * per_stage + g * first_step + i * stride);
    }
  }
  return groups;
}

// The same index on each of the given pipeline ranks.
Members across_stages(const Mesh& mesh, const std::vector<int>& pipeline_ranks) {
  Members groups;
  const int per_stage = mesh.dp_size * mesh.tp_size;
  for (int i = 0; i < per_stage; ++i) {
    std::vector<int>& ranks = groups.emplace_back();
    for (const int pp : pipeline_ranks) ranks.push_back(pp * per_stage + i);
  }
  return groups;
}

}  // namespace

std::vector<GroupReport> group_reports(const Mesh& mesh, const StageMap& map,
                                       const std::vector<int>& embedding_ranks) {
  const int per_stage = mesh.dp_size * mesh.tp_size;
  std::vector<int> pipeline;
  for (int pp = 0; pp < mesh.pp_size; ++pp) pipeline.push_back(pp);
  std::vector<GroupReport> groups;
  groups.push_back(group("pp", "one copy of the model", across_stages(mesh, pipeline)));
  groups.push_back(
      group("dp", "sums dense gradients", within_stages(mesh, 1, mesh.dp_size, mesh.tp_size)));
  groups.push_back(group("ep", "exchanges tokens and their counts",
                         within_stages(mesh, mesh.ep_size, mesh.ep_size, 1)));
  groups.push_back(group("edp", "sums experts' gradients",
                         within_stages(mesh, 1, per_stage / mesh.ep_size, mesh.ep_size)));
  const Stage last(map.num_stages() - 1);
  const std::set<int> tied(embedding_ranks.begin(), embedding_ranks.end());
  if (tied.size() > 1) {
    groups.push_back(group("tie", "sums the gradients of the embedding's copies",
                           across_stages(mesh, {tied.begin(), tied.end()})));
  }
  for (int edge = 0; edge < last.value; ++edge) {
    const int from = map.rank_of(Stage(edge)).value;
    const int to = map.rank_of(Stage(edge + 1)).value;
    if (from == to) continue;
    groups.push_back(group("edge " + std::to_string(edge), "hands activations and gradients over",
                           across_stages(mesh, {std::min(from, to), std::max(from, to)})));
  }
  return groups;
}

}  // namespace weft
