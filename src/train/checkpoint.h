// Checkpoints of model, optimizer, data position and random state, under the names of the unsharded
// model, so that any layout of ranks can load them. Files: see manifest.h.
#pragma once

#include <functional>
#include <string>

#include "comm/communicator.h"
#include "model/parameters.h"
#include "train/manifest.h"
#include "train/optimizer.h"

namespace weft {

// Called with the name of the point that a save has reached, on each rank: "directory-made",
// "rank-file-begun", "rank-file-written", then on rank 0 "manifest-written", "renamed", "tracked".
using CheckpointHook = std::function<void(const char* point)>;

// Collective over `world`. Every rank writes the tensors of which it is the lowest holder into
// DIR/iter_N.tmp; rank 0 adds the manifest, renames the directory and then replaces the tracker,
// everything synced to the disk in this order. A crash at any point leaves what was saved before,
// and an older iteration N until the new one is complete. Throws RuntimeFault on every rank naming
// rank, file and reason, the disk being full among them, or tensors that are not finite; the
// temporary directory is then gone.
void save_checkpoint(const std::string& directory, const ParameterStore& store,
                     const AdamW& optimizer, const TrainState& state, Group& world,
                     const CheckpointHook& hook = {});

// Collective over `world`. Checks the checksums of all files (the ranks share the work), then reads
// what this rank holds; with `optimizer` its state too. Values are converted to the type of the
// main weights. Errors, alike on every rank: UserError naming every damaged file and the nearest
// valid iteration, or the first tensors that are missing, left over, of another shape or no
// floating-point numbers, and how many more.
TrainState load_checkpoint(const std::string& directory, ParameterStore& store, AdamW* optimizer,
                           Group& world);

}  // namespace weft
