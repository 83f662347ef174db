// The table of flags. A row: name, heading, verbs that take it, field, help, lowest and highest
// value, choices. Names are Megatron's or MindSpeed's where those have one.
#include "config/flag.h"
#include "config/script_flags.h"

namespace weft {
namespace {

constexpr VerbSet kRuns = verbs(Verb::Train, Verb::Logits, Verb::Plan);
constexpr VerbSet kPlans =
    verbs(Verb::Train, Verb::Logits, Verb::Plan, Verb::Schedule, Verb::Simulate, Verb::Layout);
constexpr VerbSet kModels = kPlans | verbs(Verb::Sample);
// What a run is trained with, a plan of it can be asked with.
constexpr VerbSet kTrain = verbs(Verb::Train, Verb::Plan);
constexpr VerbSet kShows = verbs(Verb::Schedule, Verb::Simulate, Verb::Layout, Verb::Plan);
constexpr VerbSet kCosts = verbs(Verb::Schedule, Verb::Simulate);
constexpr VerbSet kReport = verbs(Verb::Report);
constexpr VerbSet kPlan = verbs(Verb::Plan);
constexpr VerbSet kData = verbs(Verb::Data);
constexpr VerbSet kSample = verbs(Verb::Sample);
constexpr VerbSet kAll = ~0U;

constexpr auto kUnbuilt = FlagStatus::NotYet;

// No size of a real run is near these; they keep a misplaced number from asking for all memory.
constexpr double kMaxRanks = 65536;
constexpr double kMaxLayers = 100000;
constexpr double kMaxMicroBatches = 1000000;
constexpr double kHighestSize = 1 << 24;
constexpr double kMaxCost = 1e15;  // sums of a plan stay finite
constexpr double kBelowOne = 1.0 - std::numeric_limits<double>::epsilon() / 2;
constexpr double kMaxReal = 1e15;  // products of a few stay finite in float32
// LibTorch's sort keeps 4 KiB a thread on the stack, and stacks have 8 MiB.
constexpr double kMaxThreads = 1024;

constexpr NoField kBare{};
constexpr NoField kWithValue{.takes_value = true};
constexpr NoField kOne{.takes_value = true, .neutral = "1"};

template <auto Member>
constexpr auto model = field<&Config::model, Member>();
template <auto Member>
constexpr auto parallel = field<&Config::parallel, Member>();
template <auto Member>
constexpr auto plan = field<&Config::schedule, Member>();
template <auto Member>
constexpr auto training = field<&Config::train, Member>();
template <auto Member>
constexpr auto launch = field<&Config::launch, Member>();
template <auto Member>
constexpr auto output = field<&Config::output, Member>();
template <auto Member>
constexpr auto cost = field<&Config::cost, Member>();
template <auto Member>
constexpr auto data = field<&Config::data, Member>();
template <auto Member>
constexpr auto planning = field<&Config::plan, Member>();
template <auto Member>
constexpr auto sample = field<&Config::sample, Member>();

using M = ModelConfig;
using P = ParallelConfig;
using S = ScheduleConfig;
using T = TrainConfig;
using L = LaunchConfig;
using O = OutputConfig;
using C = CostConfig;

constexpr auto kSchedule = "Schedule";
constexpr auto kParallel = "Parallel sizes";
constexpr auto kModel = "Model";
constexpr auto kMoe = "Mixture of experts";
constexpr auto kTraining = "Training";
constexpr auto kFiles = "Files";
constexpr auto kLaunch = "Ranks";
constexpr auto kOutput = "Output";
constexpr auto kCost = "Costs of a chunk, in any one unit";
constexpr auto kDataGroup = "Data";
constexpr auto kSampling = "Sampling";
constexpr auto kLater = "Known, not built yet";

std::vector<Flag> own_flags() {
  // clang-format off
  return {
      {"schedules-method", kSchedule, kPlans, plan<&S::schedules_method>,
       "which schedule, or a file with one: ranks and micro-batches follow from the file",
       {.choices = {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipev",
       "no-pipeline", "auto", "*.csv"},
       .default_text = "no-pipeline if P = 1, interleaved with several chunks a rank, else 1f1b"}},
      {"num-microbatches", kSchedule, kPlans, plan<&S::num_microbatches>,
       "M, micro-batches per step and data parallel rank", {.min = 1, .max = kMaxMicroBatches,
       .default_text = "global batch / (micro-batch * data parallel size)"}},
      {"global-batch-size", kSchedule, kPlans, plan<&S::global_batch_size>,
       "sequences per step, over all data parallel ranks", {.min = 1, .max = kHighestSize}},
      {"micro-batch-size", kSchedule, kPlans, plan<&S::micro_batch_size>,
       "sequences per micro-batch", {.min = 1, .max = kHighestSize, .default_text = "1"}},
      {"dualpipev-dw-detach", kSchedule, kPlans, plan<&S::dualpipev_dw_detach>,
       "DualPipeV: the last P backwards of a rank put off their weight gradients; less bubble, "
       "more memory"},
      {"moe-fb-overlap", kSchedule, kPlans, plan<&S::moe_fb_overlap>,
       "weave one micro-batch's forward with another's backward, all-to-all under compute"},
      {"overlap-outside-steady", kSchedule, kPlans, plan<&S::overlap_outside_steady>,
       "with --moe-fb-overlap: weave two forwards in warm-up, two backwards in cool-down too; "
       "`weft simulate` tells whether it pays"},
      {"overlap-grad-reduce", kSchedule, kPlans, plan<&S::overlap_grad_reduce>,
       "sum a layer's gradients over data parallel ranks while later backwards run"},
      {"num-virtual-stages-per-pipeline-rank", kSchedule, kPlans,
       plan<&S::num_virtual_stages_per_pipeline_rank>, "chunks per rank", {.min = 1,
       .max = kMaxLayers, .default_text = "2 under interleaved, else 1"}},
      {"num-layers-per-virtual-pipeline-stage", kSchedule, kPlans,
       plan<&S::num_layers_per_virtual_pipeline_stage>, "layers per chunk", {.min = 1,
       .max = kMaxLayers}},
      {"decoder-first-pipeline-num-layers", kSchedule, kPlans,
       plan<&S::decoder_first_pipeline_num_layers>,
       "layers of the first rank, all its chunks together; DualPipeV: of the first stage",
       {.min = 0, .max = kMaxLayers, .default_text = "an even share"}},
      {"decoder-last-pipeline-num-layers", kSchedule, kPlans,
       plan<&S::decoder_last_pipeline_num_layers>,
       "layers of the last rank, all its chunks together; DualPipeV: of the last stage",
       {.min = 0, .max = kMaxLayers, .default_text = "an even share"}},
      {"microbatch-group-size-per-virtual-pipeline-stage", kSchedule, kPlans,
       plan<&S::microbatch_group_size_per_virtual_pipeline_stage>,
       "interleaved: micro-batches that a chunk takes in a row", {.min = 1, .max = kMaxMicroBatches,
       .default_text = "P"}},
      {"pipeline-model-parallel-layout", kSchedule, kPlans,
       plan<&S::pipeline_model_parallel_layout>,
       "stages in forward order, joined by |: E embedding, t layer, m multi-token prediction "
       "layer, L loss; t*3, (tt|)*2"},
      {"max-live-chunks", kSchedule, kPlans, plan<&S::max_live_chunks>,
       "chunks whose activations a rank may keep at once: auto searches under it, other schedules "
       "are held to it", {.min = 1, .max = kMaxMicroBatches,
       .default_text = "auto: 2P + 1, as dualpipev; else no limit"}},
      {"max-pending-wgrads", kSchedule, kPlans, plan<&S::max_pending_wgrads>,
       "W's that a rank may put off at once", {.min = 0, .max = kMaxMicroBatches,
       .default_text = "no limit"}},
      {"max-activation-bytes", kSchedule, kCosts | kPlan, plan<&S::max_activation_bytes>,
       "bytes of activations that a rank may keep at once, by [bytes] of --costs or the model's "
       "sizes", {.min = 0, .max = 1e18, .default_text = "no limit"}},
      {"placement", kSchedule, verbs(Verb::Layout), plan<&S::placement>, "how stages lie on ranks",
       {.choices = {"looped", "v"}, .default_text = "what the schedule needs"}},

      {"pipeline-model-parallel-size", kParallel, kPlans,
       parallel<&P::pipeline_model_parallel_size>, "P, pipeline ranks", {.min = 1,
       .max = kMaxRanks}},
      {"expert-model-parallel-size", kParallel, kPlans, parallel<&P::expert_model_parallel_size>,
       "EP, ranks that share the experts of a layer; divides the data parallel size", {.min = 1,
       .max = kMaxRanks}},
      {"data-parallel-size", kParallel, kPlans, parallel<&P::data_parallel_size>,
       "DP, must agree with ranks / P", {.min = 1, .max = kMaxRanks, .default_text = "ranks / P"}},

      {"ranks", kParallel, kPlan, launch<&L::local_ranks>, "ranks of the run", {.min = 1,
       .max = kMaxRanks, .default_text = "what the sizes need"}},
      {"memory-gib", kParallel, kPlan, planning<&PlanConfig::memory_gib>,
       "memory of one rank in GiB: what does not fit is said", {.min = 0, .max = 1e6,
       .default_text = "no limit"}},
      {"rules", kOutput, kPlan, planning<&PlanConfig::rules>,
       "show the rules of the original, kept and lifted, and nothing else"},
      {"search", kParallel, kPlan, planning<&PlanConfig::search>,
       "try sizes, schedules and memory flags that are not given, and rank what fits"},

      {"model", kModel, kPlan | kCosts, planning<&PlanConfig::model>,
       "sizes of a published model by its name, or of a config.json; flags beat them"},
      {"num-layers", kModel, kModels, model<&M::num_layers>, "decoder layers, noop layers included",
       {.min = 1, .max = kMaxLayers, .default_text = "one per stage"}},
      {"hidden-size", kModel, kModels, model<&M::hidden_size>, "H", {.min = 1, .max = kHighestSize,
       .default_text = "none"}},
      {"ffn-hidden-size", kModel, kModels, model<&M::ffn_hidden_size>,
       "width of a dense feed-forward", {.min = 1, .max = kHighestSize,
       .default_text = "4 * hidden size"}},
      {"num-attention-heads", kModel, kModels, model<&M::num_attention_heads>, "query heads",
       {.min = 1, .max = kHighestSize, .default_text = "none"}},
      {"num-query-groups", kModel, kModels, model<&M::num_query_groups>, "key and value heads",
       {.min = 1, .max = kHighestSize, .default_text = "attention heads"}},
      {"kv-channels", kModel, kModels, model<&M::kv_channels>, "size of a head", {.min = 1,
       .max = kHighestSize, .default_text = "hidden size / attention heads"}},
      {"seq-length", kModel, kModels, model<&M::seq_length>, "tokens per sequence", {.min = 1,
       .max = kHighestSize, .default_text = "that of the token file"}},
      {"vocab-size", kModel, kModels, model<&M::vocab_size>, "tokens in the vocabulary", {.min = 1,
       .max = kHighestSize, .default_text = "that of the loaded model"}},
      {"rotary-base", kModel, kModels, model<&M::rotary_base>, "base of the rotary angles",
       {.min = 1, .max = kMaxReal}},
      {"norm-epsilon", kModel, kModels, model<&M::norm_epsilon>, "epsilon inside RMSNorm's root",
       {.min = 0, .max = 1}},
      {"init-method-std", kModel, kModels, model<&M::init_method_std>,
       "standard deviation of initial weights", {.min = 0, .max = kMaxReal}},
      {"untie-embeddings-and-output-weights", kModel, kModels,
       model<&M::untie_embeddings_and_output_weights>, "the output head has weights of its own"},
      {"noop-layers", kModel, kModels, model<&M::noop_layers>,
       "layers that do nothing, counted from 0: 0,31"},
      {"first-k-dense-replace", kModel, kModels, model<&M::first_k_dense_replace>,
       "the first layers that are dense", {.min = 0, .max = kMaxLayers}},
      {"moe-layer-freq", kModel, kModels, model<&M::moe_layer_freq>,
       "n: every n-th layer is MoE; or a list: [0,1,1]", {.default_text = "1"}},

      {"num-experts", kMoe, kModels, model<&M::num_experts>, "experts per layer, 0: all are dense",
       {.min = 0, .max = kHighestSize}},
      {"moe-router-topk", kMoe, kModels, model<&M::moe_router_topk>, "experts per token", {.min = 1,
       .max = kHighestSize}},
      {"moe-router-pre-softmax", kMoe, kModels, model<&M::moe_router_pre_softmax>,
       "softmax over all experts, the chosen weights not renormalised"},
      {"moe-ffn-hidden-size", kMoe, kModels, model<&M::moe_ffn_hidden_size>, "width of an expert",
       {.min = 1, .max = kHighestSize, .default_text = "ffn hidden size"}},
      {"moe-shared-expert-intermediate-size", kMoe, kModels,
       model<&M::moe_shared_expert_intermediate_size>, "width of the shared expert, 0: none",
       {.min = 0, .max = kHighestSize}},
      {"moe-aux-loss-coeff", kMoe, kModels, model<&M::moe_aux_loss_coeff>,
       "load-balancing loss, 0: off", {.min = 0, .max = kMaxReal, .words = Words::OneOrMore}},
      {"moe-z-loss-coeff", kMoe, kModels, model<&M::moe_z_loss_coeff>,
       "loss on the router's logits, 0: off", {.min = 0, .max = kMaxReal}},

      {"train-iters", kTraining, kTrain, training<&T::train_iters>,
       "steps in all, those before --load included", {.min = 1, .max = 1e9,
       .default_text = "none"}},
      {"lr", kTraining, kTrain, training<&T::lr>, "highest learning rate", {.min = 0,
       .max = kMaxReal}},
      {"min-lr", kTraining, kTrain, training<&T::min_lr>, "lowest learning rate", {.min = 0,
       .max = kMaxReal}},
      {"lr-warmup-iters", kTraining, kTrain, training<&T::lr_warmup_iters>,
       "steps of linear warm-up", {.min = 0, .max = 1e9}},
      {"lr-decay-iters", kTraining, kTrain, training<&T::lr_decay_iters>,
       "steps until the lowest learning rate, by a cosine", {.min = 1, .max = 1e9,
       .default_text = "train iters"}},
      {"weight-decay", kTraining, kTrain, training<&T::weight_decay>, "of matrices, decoupled",
       {.min = 0, .max = kMaxReal}},
      {"clip-grad", kTraining, kTrain, training<&T::clip_grad>,
       "largest norm of the gradient, 0: no limit", {.min = 0, .max = kMaxReal}},
      {"adam-beta1", kTraining, kTrain, training<&T::adam_beta1>, "decay of the first moment",
       {.min = 0, .max = kBelowOne}},
      {"adam-beta2", kTraining, kTrain, training<&T::adam_beta2>, "decay of the second moment",
       {.min = 0, .max = kBelowOne}},
      {"adam-eps", kTraining, kTrain, training<&T::adam_eps>, "added to the root", {.min = 0,
       .max = 1}},
      {"seed", kTraining, kTrain | kSample, training<&T::seed>,
       "fixes initial weights whatever the layout, and the order of the data", {.min = 0,
       .max = 9e15}},
      {"params-dtype", kTraining, kRuns | kSample | kCosts, training<&T::params_dtype>,
       "type of compute", {.choices = {"fp32", "bf16", "fp64"}}},
      {"bf16", kTraining, kRuns | kSample | kCosts, kBare, "short for --params-dtype bf16"},
      {"eval-interval", kTraining, kTrain, training<&T::eval_interval>,
       "evaluate every so many steps, 0: never", {.min = 0, .max = 1e9}},
      {"eval-iters", kTraining, kTrain, training<&T::eval_iters>, "batches per evaluation",
       {.min = 0, .max = 1e9}},
      {"log-digests", kTraining, kTrain, training<&T::log_digests>,
       "64-bit digests of all main gradients and weights in --metrics"},

      {"data-path", kFiles, kTrain, training<&T::data_path>,
       "prefix of the .bin and .idx files to train on", {.words = Words::AnyNumber}},
      {"split", kFiles, kTrain, training<&T::split>,
       "shares of documents for training, validation and test"},
      {"token-file", kFiles, kRuns, training<&T::token_file>,
       "tokens (and labels) [B, S] to train on in order, safetensors"},
      {"save", kFiles, kTrain, training<&T::save>, "folder for checkpoints"},
      {"save-interval", kFiles, kTrain, training<&T::save_interval>,
       "save every so many steps, 0: at the end only", {.min = 0, .max = 1e9}},
      {"load", kFiles, kRuns | kSample, training<&T::load>,
       "folder with checkpoints"},
      {"metrics", kFiles, kTrain | kReport, training<&T::metrics>,
       "one JSON object a step; `weft report` reads it"},
      {"timeline", kFiles, kTrain | kCosts | kReport, training<&T::timeline>,
       "timeline of the last step: .json for Perfetto and `weft report`, which reads it, .html for "
       "a browser, else both"},
      {"predicted", kFiles, kReport, field<&Config::report, &ReportConfig::predicted>(),
       "what to compare with: a --timeline of `weft simulate`, or of another run",
       {.default_text = "the prediction that the run left in --timeline"}},
      {"save-gradients", kFiles, kTrain, training<&T::save_gradients>,
       "main gradients of the first step, safetensors"},

      {"local-ranks", kLaunch, kRuns, launch<&L::local_ranks>,
       "local processes to start where no launcher has", {.min = 1, .max = kMaxRanks,
       .default_text = "what the sizes need"}},
      {"communicator", kLaunch, kRuns, launch<&L::communicator>,
       "how ranks talk; threads: all in one process", {.choices = {"gloo", "nccl", "threads"}}},
      {"device", kLaunch, kRuns | kSample, launch<&L::device>, "where to compute",
       {.choices = {"cpu", "cuda"}}},
      {"distributed-timeout-seconds", kLaunch, kRuns, launch<&L::distributed_timeout_seconds>,
       "deadline of every wait", {.min = 1, .max = 1e6}},
      {"threads-per-rank", kLaunch, kRuns | kSample, launch<&L::threads_per_rank>,
       "threads that compute", {.min = 1, .max = kMaxThreads}},

      {"data-command", kDataGroup, kData, data<&DataConfig::command>, "what to do",
       {.choices = {"prepare"}, .default_text = "none"}},
      {"input", kDataGroup, kData, data<&DataConfig::input>, "text file, or folder of text files"},
      {"output-prefix", kDataGroup, kData, data<&DataConfig::output_prefix>,
       "writes PREFIX.bin and PREFIX.idx"},
      {"tokenizer-type", kDataGroup, kData, data<&DataConfig::tokenizer_type>,
       "how text becomes tokens", {.choices = {"bytes"}, .ignored_by = kTrain}},
      {"suffix", kDataGroup, kData, data<&DataConfig::suffix>,
       "of files to take from a folder, as .py", {.default_text = "all files"}},
      {"exclude", kDataGroup, kData, data<&DataConfig::exclude>,
       "name of folders to pass over, as site-packages", {.default_text = "none"}},
      {"append-eod", kDataGroup, kData, data<&DataConfig::append_eod>,
       "token 256 after each document; the vocabulary is then 257"},

      {"prompt", kSampling, kSample, sample<&SampleConfig::prompt>, "text to continue"},
      {"max-new-tokens", kSampling, kSample, sample<&SampleConfig::max_new_tokens>, "tokens to add",
       {.min = 1, .max = kHighestSize}},
      {"temperature", kSampling, kSample, sample<&SampleConfig::temperature>,
       "0: always the most likely token", {.min = 0, .max = 1e6}},
      {"top-k", kSampling, kSample, sample<&SampleConfig::top_k>,
       "draw from the k most likely tokens, 0: from all", {.min = 0, .max = kHighestSize}},

      {"cost-forward", kCost, kCosts, cost<&C::cost_forward>, "F", {.min = 0, .max = kMaxCost}},
      {"cost-dgrad", kCost, kCosts, cost<&C::cost_dgrad>, "I, input gradient", {.min = 0,
       .max = kMaxCost}},
      {"cost-wgrad", kCost, kCosts, cost<&C::cost_wgrad>, "W, weight gradient", {.min = 0,
       .max = kMaxCost}},
      {"cost-pair", kCost, kCosts, cost<&C::cost_pair>, "a forward woven with a backward",
       {.min = 0, .max = kMaxCost, .default_text = "forward + dgrad + wgrad"}},
      {"cost-p2p", kCost, kCosts, cost<&C::cost_p2p>,
       "delay of a hand-over between ranks, for the receiver", {.min = 0, .max = kMaxCost}},
      {"costs", kCost, kCosts | kTrain | kReport, training<&T::costs>,
       "TOML file: times as `weft report --costs` writes them, or rates of a device and its links"},

      {"level", kOutput, kCosts, output<&O::level>,
       "how far lowered; simulate: by default steps if the costs name wires; schedule as text: "
       "compute a grid of cells over time, transfers the grid with receives over and sends under "
       "each rank, steps when each cell starts and its steps",
       {.choices = {"compute", "transfers", "steps"}}},
      {"format", kOutput, kShows | kReport, output<&O::format>,
       "form of the result; csv and svg are for schedule, html for schedule, simulate and report",
       {.choices = {"text", "csv", "json", "svg", "html"},
       .default_text = "text on a terminal, else json; schedule: else csv"}},
      {"events", kOutput, verbs(Verb::Simulate), output<&O::events>,
       "list every event in the JSON"},
      {"output", kOutput, kShows | kReport | verbs(Verb::Logits, Verb::Sample), output<&O::output>,
       "write the result to this file", {.default_text = "standard output"}},

      {"tensor-model-parallel-size", kLater, kPlans, parallel<&P::tensor_model_parallel_size>,
       "tensor parallel ranks", {.min = 1, .max = kMaxRanks, .status = kUnbuilt, .note = "give 1"}},
      {"mtp-num-layers", kModel, kModels, model<&M::mtp_num_layers>,
       "multi-token prediction layers: planned at every level, not trained yet", {.min = 0,
       .max = kMaxLayers}},
      {"mtp-loss-scaling-factor", kLater, kModels, kWithValue, "weight of that loss",
       {.status = kUnbuilt, .note = "it needs --mtp-num-layers"}},
      {"moe-unperm2-mem-optim-swap", kLater, kPlans, kBare,
       "move the merge's input off the device until backward", {.status = kUnbuilt,
       .note = "leave it out"}},
      {"moe-zero-memory", kLater, kPlans, NoField{.takes_value = true, .neutral = "disable"},
       "rebuild the experts' input in backward",
       {.status = kUnbuilt, .note = "leave it out"}},
      {"recompute-activation-function", kLater, kPlans, kBare, "recompute activations",
       {.status = kUnbuilt, .note = "leave it out"}},
      {"recompute-norm", kLater, kPlans, kBare, "recompute norms", {.status = kUnbuilt,
       .note = "leave it out"}},
      {"recompute-granularity", kLater, kPlans, kWithValue, "recompute whole layers",
       {.status = kUnbuilt, .note = "leave it out"}},
      {"recompute-method", kLater, kPlans, kWithValue, "uniform or block", {.status = kUnbuilt,
       .note = "leave it out"}},
      {"recompute-num-layers", kLater, kPlans, kWithValue, "how many layers", {.status = kUnbuilt,
       .note = "leave it out"}},
      {"moe-router-score-function", kLater, kModels,
       NoField{.takes_value = true, .neutral = "softmax"}, "sigmoid scores", {.status = kUnbuilt,
       .note = "softmax is there"}},
      {"moe-router-load-balancing-type", kLater, kModels,
       NoField{.takes_value = true, .neutral = "aux_loss"}, "other balancing losses",
       {.status = kUnbuilt, .note = "aux_loss is there", .words = Words::OneOrMore}},
      {"moe-router-num-groups", kLater, kModels, kOne, "groups of experts", {.status = kUnbuilt,
       .note = "routing is not limited to groups"}},
      {"moe-router-group-topk", kLater, kModels, kOne, "groups per token", {.status = kUnbuilt,
       .note = "routing is not limited to groups"}},
      {"moe-router-topk-scaling-factor", kLater, kModels,
       NoField{.takes_value = true, .neutral = "1.0"}, "factor on the chosen weights",
       {.status = kUnbuilt, .note = "give 1.0"}},
      {"moe-router-enable-expert-bias", kLater, kModels, kBare, "balancing without a loss",
       {.status = kUnbuilt, .note = "--moe-aux-loss-coeff balances"}},
      {"moe-router-bias-update-rate", kLater, kModels, kWithValue, "step of that bias",
       {.status = kUnbuilt, .note = "it needs --moe-router-enable-expert-bias"}},
      {"moe-expert-capacity-factor", kLater, kModels, kWithValue, "drop tokens beyond a capacity",
       {.status = kUnbuilt, .note = "no token is dropped"}},
      {"pipeline-num-transformer-layers", kLater, kPlans, kWithValue, "layers of each stage",
       {.status = kUnbuilt, .note = "--pipeline-model-parallel-layout says the same"}},

      {"config", "General", kAll, kWithValue, "read flags from this TOML file, names with - or _"},
  };
  // clang-format on
}

}  // namespace

const std::vector<Flag>& flag_table() {
  static const std::vector<Flag> kTable = [] {
    std::vector<Flag> table = own_flags();
    for (Flag& flag : script_flags()) table.push_back(std::move(flag));
    return table;
  }();
  return kTable;
}

}  // namespace weft
