/**
 * The shapes of valid values. A shape is a function of a value and its path that returns what is wrong with it, or
 * undefined.
 *
 * @typedef {(value: any, path: string) => string | undefined} Shape
 */

/** @returns {Shape} */
const simple = (name, fits) => (value, path) => (fits(value) ? undefined : `${path} must be ${name}`);

export const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

export const text = simple('text', (value) => typeof value === 'string');
export const integer = simple('an integer', Number.isInteger);
export const number = simple('a number', (value) => typeof value === 'number');
export const flag = simple('true or false', (value) => typeof value === 'boolean');
export const object = simple('an object', isObject);
export const list = simple('a list', Array.isArray);

export const oneOf = (...texts) => simple(`one of ${texts.join(', ')}`, (value) => texts.includes(value));

/** @returns {Shape} */
export const nullable = (shape) => (value, path) => (value === null ? undefined : shape(value, path));

/** @returns {Shape} */
export const listOf = (member) => (value, path) =>
  list(value, path) ?? first(value, (each, index) => member(each, `${path}[${index}]`));

/** @returns {Shape} */
export const mapOf = (member) => (value, path) =>
  object(value, path) ?? first(Object.entries(value), ([name, each]) => member(each, `${path}.${name}`));

/**
 * An object with fields. Fields that are not listed are ignored.
 * @returns {Shape}
 */
export function fields(required, optional = {}) {
  const mustBe = Object.entries(required);
  const mayBe = Object.entries(optional);
  return (value, path) =>
    object(value, path) ??
    first(mustBe, ([name, shape]) =>
      Object.hasOwn(value, name) ? shape(value[name], `${path}.${name}`) : `${path}.${name} is missing`,
    ) ??
    first(mayBe, ([name, shape]) => (Object.hasOwn(value, name) ? shape(value[name], `${path}.${name}`) : undefined));
}

export const texts = listOf(text);
export const labels = mapOf(text);

function first(values, problem) {
  for (let index = 0; index < values.length; index += 1) {
    const found = problem(values[index], index);
    if (found !== undefined) return found;
  }
  return undefined;
}
