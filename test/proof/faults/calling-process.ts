import { openService, type Call, type ServiceOptions } from "./use-cases.ts";

/** The parent's order: one call, made immediately. */
export interface Order {
  readonly options: ServiceOptions;
  readonly call: Call;
}

/** The result of the call, if the process lived to report it. */
export type Report = { readonly answer: unknown } | { readonly error: string };

process.on("message", ({ options, call }: Order) => {
  const service = openService(options);
  const report = (outcome: Report): void => {
    process.send?.(outcome, () => process.disconnect());
  };
  service.perform(call).then(
    (answer) => report({ answer }),
    (error: unknown) => report({ error: String(error) }),
  );
});
process.send?.("ready");
