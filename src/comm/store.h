// The store in which ranks find each other. c10d's headers stay out of here: they are slow.
#pragma once

#include <memory>
#include <string>

namespace weft {

// A socket that listens on the loopback address. c10d's store by itself listens on every interface.
struct LoopbackSocket {
  int file = -1;
  int port = 0;
};

// At `port`, or a free one if that is 0. Throws RuntimeFault if it is taken.
LoopbackSocket listen_on_loopback(int port);

// 127.x.y.z, localhost.
bool is_loopback(const std::string& address);

// A c10d TCPStore server on the loopback address, at a free port.
class StoreServer {
 public:
  StoreServer();
  ~StoreServer();

  int port() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
