// The files of `--timeline`.
#pragma once

#include <string>
#include <vector>

#include "timeline/timeline_file.h"

namespace weft {

// The files that a --timeline stands for: one that ends in .json or .html itself, else both.
std::vector<std::string> timeline_files(const std::string& path);

// `.html`: a page, the prediction below what was measured, rank by rank; `.json`: trace events for
// Perfetto and `weft report`; any other name: both, with these ends. Throws as write_file().
void write_timelines(const std::string& path, const TimelineFile& file);

}  // namespace weft
