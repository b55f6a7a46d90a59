import { REASON, type Offer } from "../parts/act-dialog.tsx";
import type { Answer } from "../server.ts";

const reasonOf = (fields: Readonly<Record<string, string>>): string => fields["reason"] ?? "";

/** Acts on a customer. */
export const customerOffers = (application: string, customer: string): readonly Offer[] => {
  const of = { application, customer };
  return [
    {
      label: "Ask the stores now",
      about: "Queues every purchase of the customer; the next run of the schedules asks about them.",
      fields: [],
      takesAway: false,
      act: () => ({ act: "customer refresh", ...of }),
    },
    {
      label: "Unlink",
      about: "Takes the customer and its purchases away from its account.",
      fields: [REASON],
      takesAway: true,
      act: (fields) => ({ act: "customer unlink", ...of, reason: reasonOf(fields) }),
    },
    {
      label: "Move to another account",
      about: "Links the customer to another account, in one step.",
      fields: [{ name: "to", label: "Account to move it to", isRequired: true }, REASON],
      takesAway: true,
      act: (fields) => ({ act: "customer unlink", ...of, reason: reasonOf(fields), to: fields["to"] ?? "" }),
    },
    {
      label: "Erase the customer",
      about: "Erases the customer with all purchases.",
      fields: [REASON],
      takesAway: true,
      act: (fields) => ({ act: "customer erase", ...of, reason: reasonOf(fields) }),
    },
  ];
};

/** Acts on an account. */
export const accountOffers = (application: string, account: string): readonly Offer[] => {
  const of = { application, account };
  return [
    {
      label: "Unlink what only clients claimed",
      about: "Unlinks the customers that no API key has linked.",
      fields: [REASON],
      takesAway: true,
      act: (fields) => ({ act: "account unlink", ...of, reason: reasonOf(fields) }),
    },
    {
      label: "Erase the account",
      about: "Erases every customer of the account, with all purchases.",
      fields: [REASON],
      takesAway: true,
      act: (fields) => ({ act: "account erase", ...of, reason: reasonOf(fields) }),
    },
  ];
};

/** Acts on an application. */
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
        value: scopes.join(" "),
      },
      {
        name: "expires",
        label: "Expires: a time, or a duration such as P90D",
        isRequired: false,
        placeholder: "never",
      },
      { name: "label", label: "Label", isRequired: false },
    ],
    takesAway: false,
    act: ({ scope = "", expires = "", label = "" }) => ({
      act: "credential issue",
      application,
      scope: scopes.filter((one) => scope.split(/[\s,]+/).includes(one)),
      expires,
      label,
    }),
  },
  {
    label: "Ask the stores about everything",
    about: "Queues every purchase of every customer. The schedules work them off, at the stores' pace.",
    fields: [],
    takesAway: false,
    act: () => ({ act: "application refresh", application }),
  },
  {
    label: "Deliver every account's changes now",
    about: "Queues every account: what a changed catalog has changed is delivered.",
    fields: [],
    takesAway: false,
    act: () => ({ act: "application retell", application }),
  },
];

/** Act on an API key. */
export const keyOffer = (application: string, keyIdentifier: string): Offer => ({
  label: `Revoke ${keyIdentifier}`,
  about: `Revokes the key ${keyIdentifier} for ever. The service may accept it for another minute.`,
  fields: [],
  takesAway: false,
  act: () => ({ act: "credential revoke", application, keyIdentifier }),
});

/** Acts on a destination. */
export const destinationOffers = (
  application: string,
  { name, kind }: Answer<"application">["destinations"][number],
): readonly Offer[] => [
  {
    label: `Resume ${name}`,
    about: "Ends a pause or suspension: what waits is tried at once.",
    fields: [],
    takesAway: false,
    act: () => ({ act: "destination resume", application, name }),
  },
  {
    label: `Send again to ${name}`,
    about: "Sends the changes since a time once more, at most 30 days.",
    fields: [{ name: "since", label: "Since", isRequired: true, placeholder: "2027-01-31T00:00:00Z" }],
    takesAway: false,
    act: ({ since = "" }) => ({ act: "destination resend", application, name, since }),
  },
  ...(kind === "webhook"
    ? [
        {
          label: `New secret for ${name}`,
          about:
            "Rotates the webhook's secret. It is shown once, here; the previous one signs too for a day.",
          fields: [],
          // It asks only where the one before was made less than a day ago.
          takesAway: false,
          act: () => ({ act: "destination rotate" as const, application, name }),
        },
      ]
    : []),
];
