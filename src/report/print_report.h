// A report for a person and for a script.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"
#include "timeline/table.h"

namespace weft {

// By step, by phase, by rank, where the largest differences are, and by kind of event.
std::vector<Table> report_tables(const Report& report);

// The title, and the tables one below the other.
std::string print_report_text(const Report& report, int width = 80);

// Everything of the report; the form is in docs/report.md.
std::string print_report_json(const Report& report);

}  // namespace weft
