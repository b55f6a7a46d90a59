import { createApp } from "../../infra/app.ts";
import { standInOf } from "./functions/modules.ts";

// The service's own stack with functions that the tests control.
createApp({ moduleOf: standInOf }).synth();
