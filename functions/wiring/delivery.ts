import type { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { isWebhook } from "../../lib/applications/application.ts";
import { createDeliveryQueue, createForwardQueue } from "../../lib/table/telling/delivery-queue.ts";
import type { AllowsDestination } from "../../lib/delivery/addresses.ts";
import type { DeliveryRun } from "../../lib/delivery/deliver-messages.ts";
import { sendToEventBus } from "../../lib/delivery/event-bus.ts";
import { signingSecrets } from "../../lib/delivery/webhook-secret.ts";
import { createSender, signedWebhook } from "../../lib/delivery/webhook.ts";
import { applicationsOf, directoryOf, runOf, type Upkeep } from "./service.ts";
import type { MasterSecretAccess } from "./telling.ts";

interface DestinationAccess {
  /** Whether a webhook may use plain HTTP or a private address, as on a developer's machine. */
  readonly allowsDestination: AllowsDestination;
  /** Client for the region of a bus, by its ARN. */
  readonly eventBusClientOf: (eventBus: string) => EventBridgeClient;
}

export const composeDelivery = (
  configuration: Upkeep & MasterSecretAccess & DestinationAccess,
): DeliveryRun => {
  const { table, now, masterSecret, allowsDestination, eventBusClientOf } = configuration;
  const send = createSender({ allowsDestination, now });
  return {
    directory: directoryOf(configuration),
    queue: createDeliveryQueue(table),
    applications: applicationsOf(configuration),
    forwarding: {
      queue: createForwardQueue(table),
      send: (url, { body, contentType }) =>
        send(url, { text: body, headers: { "content-type": contentType } }),
    },
    send: async (application, destination, message) => {
      if (!isWebhook(destination))
        return sendToEventBus(eventBusClientOf(destination.eventBus), destination.eventBus, message);
      const secrets = signingSecrets(await masterSecret(), application, destination, now());
      return send(destination.url, signedWebhook(message, secrets, now()));
    },
    ...runOf(configuration),
  };
};
