import * as z from "zod/mini";
import { accountChange } from "../../lib/contract/schemas.ts";
import { ACCOUNT_CHANGED } from "../../lib/telling/change.ts";
import type { Mount } from "../../sandbox/mount.ts";
import { parseJson } from "../../lib/bounded-text.ts";
import { found, serveRoutes } from "../../sandbox/routes.ts";
import { createJsonService, refused } from "./json-service.ts";

export const DESTINATION_PATH = "/sandbox/destination";

const message = z.object({ type: z.string(), timestamp: z.string(), data: z.unknown() });

const events = z.object({
  Entries: z.array(
    z.object({ DetailType: z.string(), Detail: z.string(), EventBusName: z.optional(z.string()) }),
  ),
});

const change = z.omit(accountChange(), { timestamp: true, cursor: true });

const lineOf = (type: string, data: unknown): string => {
  const told = type === ACCOUNT_CHANGED ? change.safeParse(data) : undefined;
  if (told?.success !== true) return `told  ${type}  ${JSON.stringify(data)}`;
  const { applicationAccountIdentifier: account, version, entitlements } = told.data;
  const states = entitlements.map(({ identifier, status, active, expiresAt }) =>
    active && expiresAt !== null ? `${identifier} ${status} until ${expiresAt}` : `${identifier} ${status}`,
  );
  return `told  ${account}  version ${version}: ${states.join(", ") || "nothing"}`;
};

/** The demo application's webhook: prints the messages that it gets, signed or not. */
export const createDestination = (tell: (line: string) => void): Mount =>
  serveRoutes("", {
    [`POST ${DESTINATION_PATH}`]: ({ body }) => {
      const told = message.safeParse(parseJson(body));
      if (told.success) tell(lineOf(told.data.type, told.data.data));
      return { status: told.success ? 204 : 400 };
    },
  });

/**
 * A local EventBridge: `PutEvents`, which prints each event.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
 */
export const createEventBus = (tell: (line: string) => void): Mount =>
  createJsonService("AWSEvents", {
    PutEvents: (body) => {
      const put = events.safeParse(body);
      if (!put.success) return refused("ValidationException", z.prettifyError(put.error));
      const { Entries } = put.data;
      for (const { DetailType, Detail, EventBusName = "default" } of Entries)
        tell(`${lineOf(DetailType, parseJson(Detail))}  (${EventBusName})`);
      const answers = Entries.map((_, index) => ({ EventId: `local-${index}` }));
      return found({ FailedEntryCount: 0, Entries: answers });
    },
  });
