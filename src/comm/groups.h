// The groups of one process, created up front in one order on all ranks.
#pragma once

#include <map>
#include <utility>

#include "comm/communicator.h"
#include "layout/mesh.h"
#include "layout/stage_map.h"

namespace weft {

struct Groups {
  GroupPtr world;
  GroupPtr dp;      // same pipeline rank: dense parameters are summed over it
  GroupPtr edp;     // same pipeline rank, same experts
  GroupPtr ep;      // exchanges tokens: dispatch, combine and backwards
  GroupPtr counts;  // as ep, a queue of its own
  GroupPtr tie;     // ranks of the first and the last stage, same dp; null if one rank holds both
  // Edge s joins stages s and s + 1 of the same dp; only edges of this rank that are not local.
  std::map<std::pair<int, Direction>, GroupPtr> edges;
};

Groups create_groups(Communicator& communicator, const Mesh& mesh, const StageMap& map);

}  // namespace weft
