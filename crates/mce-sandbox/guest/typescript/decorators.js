// What compiled decorators call, as TypeScript's `experimentalDecorators` define it.
(function (native, shared) {
  "use strict";

  function decorate(decorators, target, key, description) {
    const count = arguments.length;
    let result = count < 3 ? target : description === null ? Object.getOwnPropertyDescriptor(target, key) : description;
    for (let index = decorators.length - 1; index >= 0; index--) {
      const decorator = decorators[index];
      if (decorator) result = (count < 3 ? decorator(result) : count > 3 ? decorator(target, key, result) : decorator(target, key)) || result;
    }
    if (count > 3 && result) Object.defineProperty(target, key, result);
    return result;
  }
  const decorateParam = (index, decorator) => (target, key) => decorator(target, key, index);
  const decorateMetadata = () => undefined;
  shared.define("babelHelpers", { decorate, decorateParam, decorateMetadata });
});
