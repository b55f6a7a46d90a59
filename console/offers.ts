import { REASON, type Offer } from "./act-dialog.tsx";

/** The reason that a form gives. */
export const reasonOf = (fields: Readonly<Record<string, string>>): string => fields["reason"] ?? "";

/** What can be done with a customer. */
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
