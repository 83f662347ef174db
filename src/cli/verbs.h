// What the verbs do. A build without LibTorch links no_training_verbs.cpp in place of the training
// half's table.
#pragma once

#include <vector>

#include "config/derive.h"
#include "config/request.h"

namespace weft {

// Does what a request that has passed the rules asks for. Throws; `main` knows the exit codes.
using VerbFunction = void (*)(const Request& request, const RunFacts& facts);

struct VerbEntry {
  Verb verb;
  VerbFunction run;
};

std::vector<VerbEntry> plan_verbs();
std::vector<VerbEntry> training_verbs();

void run_schedule(const Request& request, const RunFacts& facts);
void run_simulate(const Request& request, const RunFacts& facts);
void run_layout(const Request& request, const RunFacts& facts);
void run_report(const Request& request, const RunFacts& facts);
void run_plan(const Request& request, const RunFacts& facts);

}  // namespace weft
