#include "comm/store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/error.h"

namespace weft {
namespace {

// A socket that listens on a free loopback port. c10d's store would listen on every interface.
int listen_on_loopback() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket < 0 || ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket, SOMAXCONN) != 0) {
    throw RuntimeFault(std::string("no loopback port to be had: ") + std::strerror(errno));
  }
  return socket;
}

int port_of(int socket) {
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

}  // namespace

class StoreServer::Impl {
 public:
  Impl() {
    const int socket = listen_on_loopback();
    port_ = port_of(socket);
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(port_);
    options.isServer = true;
    options.waitWorkers = false;
    options.masterListenFd = socket;  // the store owns it from here
    store_ = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  }

  int port() const { return port_; }

 private:
  int port_ = 0;
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

StoreServer::StoreServer() : impl_(std::make_unique<Impl>()) {}
StoreServer::~StoreServer() = default;
int StoreServer::port() const { return impl_->port(); }

}  // namespace weft
