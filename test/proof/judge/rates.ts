/**
 * Probabilities for each transaction or period. Of a million transactions 10,000 are refunded, 100 of those given back; 5,000
 * are upgrades, and 30,000 payments fail.
 */
export const REALISTIC = {
  refund: 0.01,
  /** Of the refunds: that it is given back. */
  takenBack: 0.01,
  upgrade: 0.005,
  failure: 0.03,
  /** Of a renewal: that it is charged ahead. */
  ahead: 0.8,
  cancellation: 0.08,
  change: 0.01,
  copy: 0.05,
  replacement: 0.01,
  pause: 0.01,
  pending: 0.01,
  /** Of the refunds of passes: that it is of some units alone. */
  share: 0.1,
};

export type Rates = Readonly<typeof REALISTIC>;

/** What is rare happens all the time. */
export const HOSTILE: Rates = {
  refund: 0.2,
  takenBack: 0.5,
  upgrade: 0.4,
  failure: 0.3,
  ahead: 0.5,
  cancellation: 0.2,
  change: 0.3,
  copy: 0.3,
  replacement: 0.3,
  pause: 0.2,
  pending: 0.2,
  share: 0.5,
};
