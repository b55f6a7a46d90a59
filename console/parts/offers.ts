import type { Offer } from "./act-dialog.tsx";
import type { Answer } from "../server.ts";

export const customerOffers = (application: string, customer: string): readonly Offer[] => {
  const of = { application, customer };
  return [
    {
      label: "Ask the stores now",
      about: "Queues every purchase of the customer; the next run of the schedules asks about them.",
      act: { act: "customer refresh", ...of },
    },
    {
      label: "Unlink",
      about: "Takes the customer and its purchases away from its account.",
      takesAway: true,
      act: { act: "customer unlink", ...of },
    },
    {
      label: "Move to another account",
      about: "Links the customer to another account, in one step.",
      fields: [{ name: "to", label: "Account to move it to", isRequired: true }],
      takesAway: true,
      act: { act: "customer unlink", ...of },
    },
    {
      label: "Erase the customer",
      about: "Erases the customer with all purchases.",
      takesAway: true,
      act: { act: "customer erase", ...of },
    },
  ];
};

export const accountOffers = (application: string, account: string): readonly Offer[] => [
  {
    label: "Unlink what only clients claimed",
    about: "Unlinks the customers that no API key has linked.",
    takesAway: true,
    act: { act: "account unlink", application, account, assertedBy: "client" },
  },
  {
    label: "Erase the account",
    about: "Erases every customer of the account, with all purchases.",
    takesAway: true,
    act: { act: "account erase", application, account },
  },
];

export const applicationOffers = ({
  identifier: application,
  scopes,
}: Answer<"application">): readonly Offer[] => [
  {
    label: "Issue an API key",
    about: "Makes an API key. It is shown once, here.",
    fields: [
      {
        name: "scope",
        label: "Scopes, separated by spaces",
        isRequired: true,
        isList: true,
        value: scopes.join(" "),
      },
      { name: "expires", label: "Expires: a time, or a duration such as P90D", placeholder: "never" },
      { name: "label", label: "Label" },
    ],
    act: { act: "credential issue", application },
  },
  {
    label: "Ask the stores about everything",
    about: "Queues every purchase of every customer. The schedules work them off, at the stores' pace.",
    act: { act: "application refresh", application },
  },
  {
    label: "Deliver every account's changes now",
    about: "Queues every account: what a changed catalog has changed is delivered.",
    act: { act: "application retell", application },
  },
];

export const keyOffer = (application: string, keyIdentifier: string): Offer => ({
  label: `Revoke ${keyIdentifier}`,
  about: `Revokes the key ${keyIdentifier} for ever. The service may accept it for another minute.`,
  act: { act: "credential revoke", application, keyIdentifier },
});

export const destinationOffers = (
  application: string,
  { name, kind }: Answer<"application">["destinations"][number],
): readonly Offer[] => {
  const of = { application, name };
  const rotate: Offer = {
    label: `New secret for ${name}`,
    about: "Rotates the webhook's secret. It is shown once, here; the previous one signs too for a day.",
    act: { act: "destination rotate", ...of },
  };
  return [
    {
      label: `Resume ${name}`,
      about: "Ends a pause or suspension: what waits is tried at once.",
      act: { act: "destination resume", ...of },
    },
    {
      label: `Send again to ${name}`,
      about: "Sends the changes since a time once more, at most 30 days.",
      fields: [{ name: "since", label: "Since", isRequired: true, placeholder: "2027-01-31T00:00:00Z" }],
      act: { act: "destination resend", ...of },
    },
    ...(kind === "webhook" ? [rotate] : []),
  ];
};
