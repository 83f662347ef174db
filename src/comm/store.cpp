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

LoopbackSocket listen_on_loopback(int port) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;  // of a port whose last owner has just ended
  ::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t length = sizeof address;
  if (file < 0 || ::bind(file, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(file, SOMAXCONN) != 0 ||
      ::getsockname(file, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    const std::string reason = std::strerror(errno);
    if (file >= 0) ::close(file);
    throw RuntimeFault("port " + std::to_string(port) + " of the loopback address cannot be had: " +
                       reason + (port == 0 ? "" : "; MASTER_PORT can name another"));
  }
  return {file, ntohs(address.sin_port)};
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "localhost";
}

class StoreServer::Impl {
 public:
  Impl() {
    const LoopbackSocket socket = listen_on_loopback(0);
    port_ = socket.port;
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(port_);
    options.isServer = true;
    options.waitWorkers = false;
    options.masterListenFd = socket.file;  // the store owns it from here
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
