#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "base/error.h"
#include "comm/c10d_communicator.h"

namespace weft {
namespace {

using DevicePtr = std::shared_ptr<gloo::transport::Device>;

struct CloseSocket {
  int socket;
  ~CloseSocket() { ::close(socket); }
};

// The address of this host from which `master` is reached; empty if that cannot be told. A UDP
// socket that is connected sends nothing but has a route.
std::string address_towards(const std::string& master) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(master.c_str(), "9", &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> targets(found, &::freeaddrinfo);
  for (const addrinfo* target = found; target != nullptr; target = target->ai_next) {
    const CloseSocket probe{::socket(target->ai_family, SOCK_DGRAM, 0)};
    sockaddr_storage own = {};
    socklen_t length = sizeof own;
    char text[NI_MAXHOST];
    if (probe.socket >= 0 && ::connect(probe.socket, target->ai_addr, target->ai_addrlen) == 0 &&
        ::getsockname(probe.socket, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      return text;
    }
  }
  return "";
}

DevicePtr make_device(const std::string& master) {
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME")) {
    return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  }
  const std::string address = address_towards(master);
  if (address.empty()) {
    throw RuntimeFault("no route to " + master +
                       ", where the ranks meet; GLOO_SOCKET_IFNAME can name the interface to use");
  }
  return c10d::ProcessGroupGloo::createDeviceForHostname(address);
}

}  // namespace

BackendKind gloo_backend(const Rendezvous& place, const C10dOptions& options) {
  BackendKind kind;
  const DevicePtr device = make_device(place.master_address);
  kind.create = [device, deadline = options.deadline](const c10::intrusive_ptr<c10d::Store>& store,
                                                      int rank, int size) -> BackendPtr {
    const auto gloo_options = c10d::ProcessGroupGloo::Options::create(deadline);
    gloo_options->devices.push_back(device);
    gloo_options->threads = 2;
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, gloo_options);
  };
  return kind;
}

CommunicatorPtr make_gloo_communicator(const Rendezvous& place, const C10dOptions& options) {
  const BackendKind gloo = gloo_backend(place, options);
  return make_c10d_communicator(place, options, gloo, gloo);
}

}  // namespace weft
