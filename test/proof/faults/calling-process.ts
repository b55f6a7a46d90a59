import { openService, type Call, type ServiceOptions } from "./use-cases.ts";

/** The parent's order: one call, made immediately. */
export interface Order {
  readonly options: ServiceOptions;
  readonly call: Call;
}

process.on("message", ({ options, call }: Order) => void openService(options).perform(call));
process.send?.("ready");
