//! tmp
mod support;
#[tokio::test(flavor = "multi_thread")]
async fn smoke() {
    let sandbox = mce_sandbox::Sandbox::new(support::options());
    println!("{:?}", sandbox.start().await);
    println!("{:#?}", sandbox.inspect().await);
    for s in ["result = 1+1", "import os\nresult=[os.getpid(), os.listdir('/'), os.listdir('/tmp'), os.environ.copy()]", "x"] {
        let o = support::run(&sandbox, s).await;
        println!("{:?} {:?} {:?}", support::seen(&o), o.logs, o.elapsed);
    }
    sandbox.stop().await;
}
