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

void write_timelines(const std::string& path, const TimelineFile& file) {
  const bool html = path.ends_with(".html");
  const bool json = path.ends_with(".json");
  if (!json) write_file(html ? path : path + ".html", print_html(page_of(file)), "--timeline");
  if (!html) write_file(json ? path : path + ".json", print_timeline_file(file), "--timeline");
}

}  // namespace weft
