#include "comm/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace weft {
namespace {

using Variables = std::map<std::string, std::string>;
using testing::HasSubstr;

Rendezvous read(const Variables& variables) {
  return rendezvous_from_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::vector<Violation> violations_of(const Variables& variables) {
  try {
    read(variables);
  } catch (const UserError& error) {
    return error.violations();
  }
  return {};
}

TEST(Rendezvous, NothingIsOneRank) { EXPECT_EQ(read({}), Rendezvous()); }

TEST(Rendezvous, TorchrunsAgentHostsTheStore) {
  const Rendezvous place = read({{"RANK", "3"},
                                 {"WORLD_SIZE", "8"},
                                 {"LOCAL_RANK", "1"},
                                 {"MASTER_ADDR", "node7"},
                                 {"MASTER_PORT", "29400"},
                                 {"TORCHELASTIC_RUN_ID", "job"},
                                 {"TORCHELASTIC_RESTART_COUNT", "2"},
                                 {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(place, (Rendezvous{StartedBy::Torchrun, 3, 8, 1, "node7", 29400, false, "weft/job/2",
                               "torchrun"}));
}

TEST(Rendezvous, ByHandRankZeroHostsTheStore) {
  const Variables variables = {{"WORLD_SIZE", "2"}, {"MASTER_PORT", "29400"}};
  for (const char* rank : {"0", "1"}) {
    Variables own = variables;
    own["RANK"] = rank;
    const Rendezvous place = read(own);
    EXPECT_EQ(place.hosts_store, place.rank == 0);
    EXPECT_EQ(place.master_address, "127.0.0.1");
  }
}

TEST(Rendezvous, RanksOfOneMpirunMeetAtOnePort) {
  const auto rank = [](const std::string& number) {
    return read({{"OMPI_COMM_WORLD_RANK", number},
                 {"OMPI_COMM_WORLD_SIZE", "2"},
                 {"OMPI_COMM_WORLD_LOCAL_RANK", number},
                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                 {"OMPI_MCA_ess_base_jobid", "2884239361"}});
  };
  EXPECT_EQ(rank("0").started_by, StartedBy::Mpirun);
  EXPECT_TRUE(rank("0").hosts_store);
  EXPECT_FALSE(rank("1").hosts_store);
  EXPECT_EQ(rank("0").master_port, rank("1").master_port);
  EXPECT_GE(rank("0").master_port, 20000);
  EXPECT_LT(rank("0").master_port, 32768);
}

TEST(Rendezvous, SeveralHostsNeedAMaster) {
  Variables variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"OMPI_MCA_ess_base_jobid", "7"}};
  ASSERT_EQ(violations_of(variables).size(), 1U);
  EXPECT_THAT(violations_of(variables)[0].found, HasSubstr("MASTER_ADDR"));
  EXPECT_THAT(violations_of(variables)[0].message, HasSubstr("several hosts"));
  variables["MASTER_ADDR"] = "node1";
  variables["MASTER_PORT"] = "4000";
  EXPECT_EQ(read(variables).master_address, "node1");
}

TEST(Rendezvous, SrunButNotABatchScriptsShell) {
  const Variables variables = {{"SLURM_PROCID", "1"},   {"SLURM_STEP_NUM_TASKS", "2"},
                               {"SLURM_LOCALID", "1"},  {"SLURM_STEP_NUM_NODES", "1"},
                               {"SLURM_JOB_ID", "123"}, {"SLURM_STEP_ID", "0"}};
  const Rendezvous place = read(variables);
  EXPECT_EQ(place.started_by, StartedBy::Srun);
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.key_prefix, "weft/123.0");
  EXPECT_EQ(read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}), Rendezvous());
}

// Taken for a single rank, each process would be a run of its own.
TEST(Rendezvous, HalfOfALauncherIsRefused) {
  for (const char* name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    EXPECT_THAT(violations_of({{name, "1"}}), testing::Not(testing::IsEmpty())) << name;
  }
  EXPECT_EQ(violations_of({{"RANK", "0"}})[0].found, "RANK is set, WORLD_SIZE is not");
  EXPECT_EQ(violations_of({{"WORLD_SIZE", "2"}})[0].found, "WORLD_SIZE is set, RANK is not");
  EXPECT_EQ(read({{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29400"}}), Rendezvous());
}

TEST(Rendezvous, ContradictionsAreRefused) {
  Variables variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_MCA_ess_base_jobid", "7"}};
  variables["WORLD_SIZE"] = "2";
  EXPECT_EQ(read(variables).world_size, 2);
  variables["WORLD_SIZE"] = "4";
  ASSERT_EQ(violations_of(variables).size(), 1U);
  EXPECT_EQ(violations_of(variables)[0].found, "WORLD_SIZE is '4'");
  EXPECT_THAT(violations_of(variables)[0].message, HasSubstr("mpirun has started 2 ranks"));
  // The same RANK in each process of mpirun.
  variables["WORLD_SIZE"] = "1";
  variables["RANK"] = "0";
  variables["MASTER_PORT"] = "4000";
  ASSERT_EQ(violations_of(variables).size(), 1U);
  EXPECT_THAT(violations_of(variables)[0].message, HasSubstr("a run of its own"));
  // One process for each host, which starts ranks there.
  variables["WORLD_SIZE"] = "8";
  EXPECT_EQ(read(variables).world_size, 8);
}

TEST(Rendezvous, EveryMalformedVariableIsNamed) {
  const std::vector<Violation> violations = violations_of(
      {{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "70000"}, {"LOCAL_RANK", "x"}});
  ASSERT_EQ(violations.size(), 3U);
  EXPECT_EQ(violations[0].found, "RANK is '2'");
  EXPECT_EQ(violations[0].message, "an integer from 0 to 1 is needed");
  EXPECT_EQ(violations[1].found, "LOCAL_RANK is 'x'");
  EXPECT_EQ(violations[2].found, "MASTER_PORT is '70000'");
  EXPECT_EQ(violations_of({{"RANK", "0"}, {"WORLD_SIZE", "1"}})[0].found, "MASTER_PORT is not set");
}

}  // namespace
}  // namespace weft
