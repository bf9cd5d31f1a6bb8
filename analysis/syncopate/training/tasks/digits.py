"""1,797 images of handwritten digits, 8 x 8, which scikit-learn brings along; every fifth is for tests. A perceptron 64-64-10."""

from sklearn.datasets import load_digits

from syncopate.training.tasks.perceptron_task import PerceptronTask


class Task(PerceptronTask):
    def __init__(self, batch):
        images, labels = load_digits(return_X_y=True)
        images = images / 16
        is_test = [place % 5 == 4 for place in range(len(labels))]
        is_train = [not one for one in is_test]
        super().__init__([64, 64, 10], batch, (images[is_train], labels[is_train]), (images[is_test], labels[is_test]))
