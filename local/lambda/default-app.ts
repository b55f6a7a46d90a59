import { createApp } from "../../infra/app.ts";

// The stage `production` with the defaults: the local run and the tests need no `stages.json`, and do not change with it. A
// process of its own synthesizes it, so that the local run does not load the CDK.
createApp().synth();
