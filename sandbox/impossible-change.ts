/** A change that what was sold does not allow now. */
export class ImpossibleChange extends Error {}
