import * as z from "zod/mini";
import { parseJson } from "../lib/bounded-text.ts";
import { accountChange } from "../lib/contract/schemas.ts";
import { ACCOUNT_CHANGED } from "../lib/telling/change.ts";
import { found, serveRoutes, type Mount } from "../sandbox/routes.ts";
import { createJsonService } from "./aws.ts";

const change = z.omit(accountChange(), { timestamp: true, cursor: true });

const lineOf = (type: string, data: unknown): string => {
  const changed = type === ACCOUNT_CHANGED ? change.safeParse(data).data : undefined;
  if (changed === undefined) return `told  ${type}  ${JSON.stringify(data)}`;
  const { applicationAccountIdentifier: account, version, entitlements } = changed;
  const states = entitlements.map(({ identifier, status, active, expiresAt }) =>
    active && expiresAt !== null ? `${identifier} ${status} until ${expiresAt}` : `${identifier} ${status}`,
  );
  return `told  ${account}  version ${version}: ${states.join(", ") || "nothing"}`;
};

export const DESTINATION_PATH = "/sandbox/destination";

const message = z.object({ type: z.string(), timestamp: z.string(), data: z.unknown() });

/** The demo application's webhook: prints the messages that it gets, signed or not. */
export const createDestination = (tell: (line: string) => void): Mount =>
  serveRoutes("", {
    [`POST ${DESTINATION_PATH}`]: ({ body }) => {
      const parsed = message.safeParse(parseJson(body));
      if (parsed.success) tell(lineOf(parsed.data.type, parsed.data.data));
      return { status: parsed.success ? 204 : 400 };
    },
  });

const events = z.object({
  Entries: z.array(
    z.object({ DetailType: z.string(), Detail: z.string(), EventBusName: z.optional(z.string()) }),
  ),
});

/**
 * A local EventBridge: `PutEvents`, which prints each event.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
 */
export const createEventBus = (tell: (line: string) => void): Mount =>
  createJsonService(["AWSEvents", "PutEvents"], events, ({ Entries }) => {
    for (const { DetailType, Detail, EventBusName = "default" } of Entries)
      tell(`${lineOf(DetailType, parseJson(Detail))}  (${EventBusName})`);
    const answers = Entries.map((_, index) => ({ EventId: `local-${index}` }));
    return found({ FailedEntryCount: 0, Entries: answers });
  });
