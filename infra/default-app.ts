import { createApp } from "./app.ts";

// The stage `production` with the defaults, for the local run and the tests, which neither need `stages.json` nor may
// depend on it.
createApp().synth();
