#include "timeline/write_timelines.h"

#include "base/files.h"
#include "timeline/html.h"

namespace weft {
namespace {

Page page_of(const TimelineFile& file) {
  Page page{file.title, {}, {}};
  const bool measured = file.step.has_value() || file.predicted.has_value();
  page.timelines.push_back({measured ? "measured" : "simulated", file.timeline});
  if (file.predicted) page.timelines.push_back({"predicted", *file.predicted});
  return page;
}

}  // namespace

std::vector<std::string> timeline_files(const std::string& path) {
  if (path.ends_with(".json") || path.ends_with(".html")) return {path};
  return {path + ".html", path + ".json"};
}

void write_timelines(const std::string& path, const TimelineFile& file) {
  for (const std::string& name : timeline_files(path)) {
    const bool html = name.ends_with(".html");
    write_file(name, html ? print_html(page_of(file)) : print_timeline_file(file), "--timeline");
  }
}

}  // namespace weft
