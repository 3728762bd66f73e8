//! What threads need of the host: CPUs and how urgently they run, network namespaces, waits for
//! descriptors, and the kernel's clocks.

pub mod affinity;
pub mod epoll;
pub mod kernel_clock;
pub mod netns;
pub mod precedence;
