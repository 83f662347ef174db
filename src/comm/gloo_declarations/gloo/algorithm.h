// What ProcessGroupGloo.hpp needs of Gloo where LibTorch comes without Gloo's headers: declarations
// only, the code is in libtorch_cpu. No object of these types is made on this side.
#pragma once
