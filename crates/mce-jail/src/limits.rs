//! Limits that the kernel holds for one worker. Wall-clock time and output are held by the host.

/// Limits of one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerLimits {
    /// Memory that the run may take beyond what the fork server had, in mebibytes. Default 256.
    pub memory_mib: u32,
    /// Processor time of the run in seconds, over all its threads; then it is killed. Default 60.
    pub cpu_seconds: u32,
    /// Threads, the first one included. Processes are refused at any number. Default 32.
    pub threads: u32,
    /// Open descriptors, the frame socket included. Default 256.
    pub open_files: u32,
    /// Size of the private `/tmp`, in mebibytes; also the most that one file may hold. Default 64.
    pub tmp_mib: u32,
    /// Files and directories in `/tmp`. Default 4096.
    pub tmp_files: u32,
    /// Stack of the first thread, in mebibytes. Default 8.
    pub stack_mib: u32,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        Self {
            memory_mib: 256,
            cpu_seconds: 60,
            threads: 32,
            open_files: 256,
            tmp_mib: 64,
            tmp_files: 4096,
            stack_mib: 8,
        }
    }
}
