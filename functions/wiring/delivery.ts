import type { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { isWebhook } from "../../lib/applications/destination.ts";
import { createDeliveryQueue } from "../../lib/table/telling/delivery-queue.ts";
import type { AllowsDestination } from "../../lib/delivery/allowed-destinations.ts";
import type { DeliveryRun } from "../../lib/delivery/deliver-messages.ts";
import { createEventBusSender } from "../../lib/delivery/event-bus.ts";
import { signingSecrets } from "../../lib/delivery/webhook-secret.ts";
import type { Forwarding } from "../../lib/delivery/forward-notifications.ts";
import { createTextSender, createWebhookSender } from "../../lib/delivery/webhook/webhook.ts";
import { createForwardQueue } from "../../lib/table/telling/forwards.ts";
import { runOf } from "./run.ts";
import { applicationsOf, directoryOf, type ServiceConfiguration, type Upkeep } from "./service.ts";
import type { MasterSecretAccess } from "./telling.ts";

export interface DestinationAccess {
  /** Whether a webhook may use plain HTTP or a private address, as on a developer's machine. */
  readonly allowsDestination: AllowsDestination;
  /** Client for the region of a bus, by its ARN. */
  readonly eventBusClientOf: (eventBus: string) => EventBridgeClient;
}

const forwardingOf = ({
  table,
  now,
  allowsDestination,
}: ServiceConfiguration & Pick<DestinationAccess, "allowsDestination">): Forwarding => {
  const checked = createTextSender({ isAnyAddressAllowed: false, now });
  const unchecked = createTextSender({ isAnyAddressAllowed: true, now });
  return {
    queue: createForwardQueue(table),
    send: async (url, { body, contentType }) =>
      (allowsDestination(url) ? unchecked : checked).send(url, body, { "content-type": contentType }),
  };
};

export const composeDelivery = (
  configuration: Upkeep & MasterSecretAccess & DestinationAccess,
): DeliveryRun => {
  const { table, now, masterSecret, allowsDestination, eventBusClientOf } = configuration;
  const webhooks = createWebhookSender({ isAnyAddressAllowed: false, now });
  const unchecked = createWebhookSender({ isAnyAddressAllowed: true, now });
  return {
    directory: directoryOf(configuration),
    queue: createDeliveryQueue(table),
    applications: applicationsOf(configuration),
    forwarding: forwardingOf(configuration),
    send: async (application, destination, messages) => {
      if (!isWebhook(destination))
        return createEventBusSender(eventBusClientOf(destination.eventBus)).send(
          destination.eventBus,
          messages,
        );
      const { send } = allowsDestination(destination.url) ? unchecked : webhooks;
      const secrets = signingSecrets(await masterSecret(), application, destination, now());
      return Promise.all(messages.map(async (message) => send(destination.url, message, secrets)));
    },
    ...runOf(configuration),
  };
};
