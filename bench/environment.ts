/** A variable that the whole run gives its parts. */
export const requiredVariable = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run it by \`npm run bench\`.`);
  return value;
};
