/** Licences that ask for nothing but their notice. */
export const PERMISSIVE = /^(?:MIT|MIT-0|ISC|0BSD|Apache-2\.0|BSD-[23]-Clause)$/;

/** Packages whose licence is permissive, though their manifest does not name it by its identifier. */
export const CHECKED = [
  // BSD-3-Clause, which its package only calls BSD.
  "url-template",
];
