import { openService, type Call, type ServiceOptions } from "./use-cases.ts";

/** What the parent asks for: one call, made at once. */
export interface Order {
  readonly options: ServiceOptions;
  readonly call: Call;
}

/** How the call ended, where the process lived to see it. */
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
