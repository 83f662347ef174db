#include "base/error.h"
#include "comm/c10d.h"

namespace weft {

CommunicatorPtr make_nccl_communicator(const Rendezvous&, const C10dOptions&) {
  throw UserError({"communicator", "--communicator nccl", "this LibTorch has no NCCL; use gloo"});
}

}  // namespace weft
